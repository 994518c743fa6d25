"""Patterns of bash (`*`, `?`, `[...]`) as regular expressions, and what `%`, `#` and `/` do with them."""

import re
from collections.abc import Iterator
from functools import lru_cache

#: Longer texts are not matched: `%` and `#` try every end.
LONGEST = 1000
_CLASSES = {
    "digit": "0-9",
    "space": r"\s",
    "alpha": "a-zA-Z",
    "alnum": "a-zA-Z0-9",
    "xdigit": "0-9a-fA-F",
}
_PART = re.compile(
    r"(\*+)|(\?)|\\(.)|\[([!^]?)(?:\[:(\w{1,20}):\]|(\]?[^\]]{1,200}))\]|(.)", re.DOTALL
)


@lru_cache(maxsize=512)
def whole(pattern: str) -> re.Pattern[str]:
    """A pattern for `fullmatch`; stars are possessive, which keeps matching linear."""
    chunks = [""]
    for part in _parts(pattern):
        if part == "*":
            chunks.append("")
        else:
            chunks[-1] += part
    if len(chunks) == 1:
        return re.compile(chunks[0], re.DOTALL)
    middle = "".join(f"(?>.*?{chunk})" for chunk in chunks[1:-1] if chunk)
    return re.compile(f"{chunks[0]}{middle}.*{chunks[-1]}", re.DOTALL)


@lru_cache(maxsize=512)
def anywhere(pattern: str) -> re.Pattern[str] | None:
    """A pattern for searches of the longest match; None where matching could take too long."""
    parts = list(_parts(pattern))
    if parts.count("*") > 2:
        return None
    return re.compile("".join(".*" if part == "*" else part for part in parts), re.DOTALL)


def _parts(pattern: str) -> Iterator[str]:
    for match in _PART.finditer(pattern):
        star, one, escaped, negated, named, members, other = match.groups()
        if star:
            yield "*"
        elif one:
            yield "."
        elif named or members:
            inside = _CLASSES.get(named, "") if named else re.sub(r"([\\\[\]])", r"\\\1", members)
            yield _set(inside, bool(negated))
        else:
            yield re.escape(escaped or other)


def _set(inside: str, negated: bool) -> str:
    text = f"[{'^' if negated else ''}{inside}]"
    try:
        re.compile(text)
    except re.error:
        return "."
    return text


def matches(pattern: str, text: str) -> bool | None:
    """Whether the whole text fits; None when it is too long to try."""
    if len(text) > LONGEST or len(pattern) > LONGEST:
        return None
    return whole(pattern).fullmatch(text) is not None


def without_prefix(text: str, pattern: str, longest: bool) -> str | None:
    if len(text) > LONGEST or len(pattern) > LONGEST:
        return None
    ends = range(len(text), -1, -1) if longest else range(len(text) + 1)
    match = whole(pattern)
    return next((text[end:] for end in ends if match.fullmatch(text, 0, end)), text)


def without_suffix(text: str, pattern: str, longest: bool) -> str | None:
    if len(text) > LONGEST or len(pattern) > LONGEST:
        return None
    starts = range(len(text) + 1) if longest else range(len(text), -1, -1)
    match = whole(pattern)
    return next((text[:start] for start in starts if match.fullmatch(text, start)), text)


def replaced(text: str, pattern: str, new: str, how: str) -> str | None:
    """`how` is "" for the first match, "/" for all, "#" at the start, "%" at the end."""
    match = anywhere(pattern) if len(text) <= LONGEST and len(pattern) <= LONGEST else None
    if match is None or not pattern:
        return text if not pattern else None
    if how == "#":
        found = match.match(text)
        return new + text[found.end() :] if found else text
    if how == "%":
        starts = (start for start in range(len(text) + 1) if match.fullmatch(text, start))
        start = next(starts, None)
        return text if start is None else text[:start] + new
    return match.sub(lambda _: new, text, count=0 if how == "/" else 1)
