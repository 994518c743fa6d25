"""The pattern of `=~` as bash has it, a POSIX extended regular expression -> one of Python."""

import re

#: Words of a bracket between `[:` and `:]`, as members of a set.
CLASSES = {
    "digit": "0-9",
    "space": r"\s",
    "blank": r" \t",
    "alpha": "a-zA-Z",
    "lower": "a-z",
    "upper": "A-Z",
    "alnum": "a-zA-Z0-9",
    "xdigit": "0-9a-fA-F",
}
_PART = re.compile(r"\\(.)|(\[)(\^?)(\]?(?:\[:\w{1,20}:\]|[^\]]){0,200})\]|(.)", re.DOTALL)
_MEMBER = re.compile(r"\[:(\w{1,20}):\]|(.)", re.DOTALL)
#: What bash expands before it matches; a `$` elsewhere is the end of the text.
_EXPANDED = re.compile(r"[\"'`]|\$[\w{(@*#?!]")
#: Lengths and repetitions above which matching could take long.
_LONGEST, _MOST_REPEATS = 200, 2


def matches(raw: str, expanded: str, text: str) -> bool | None:
    """Whether a text has a match of the pattern that is written `raw` and expands to `expanded`; None where
    that is not decided here."""
    pattern = _pattern(raw, expanded)
    if pattern is None or len(text) > _LONGEST or len(pattern) > _LONGEST:
        return None
    if sum(map(pattern.count, "*+{")) > _MOST_REPEATS:
        return None
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return None


def _pattern(raw: str, expanded: str) -> str | None:
    """Python's pattern for bash's: a quoted word is literal; None for escapes beside an expansion."""
    if len(raw) > 1 and raw[0] == raw[-1] and raw[0] in "\"'" and raw[0] not in raw[1:-1]:
        return re.escape(expanded)
    if not _EXPANDED.search(raw):
        return _python(raw)
    return None if "\\" in raw else _python(expanded)


def _python(pattern: str) -> str | None:
    parts: list[str] = []
    for match in _PART.finditer(pattern):
        escaped, bracket, negated, members, other = match.groups()
        if escaped is not None:
            if escaped in "<>bBwWsS":
                return None
            parts.append(re.escape(escaped))
        elif bracket:
            inside = _members(members)
            if inside is None:
                return None
            parts.append(f"[{negated}{inside}]")
        else:
            parts.append(other)
    return "".join(parts)


def _members(text: str) -> str | None:
    """Members of a bracket expression, in Python's syntax; a second `[` is a member like others."""
    parts: list[str] = []
    for match in _MEMBER.finditer(text):
        name, one = match.groups()
        # A backslash in a bracket is taken off by one bash and kept by the other.
        if one == "\\" or (name is not None and name not in CLASSES):
            return None
        parts.append(CLASSES[name] if name is not None else f"\\{one}" if one in "[]&|~" else one)
    return "".join(parts)
