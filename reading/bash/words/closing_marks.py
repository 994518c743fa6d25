"""Where quotes, expansions and brackets of bash end: the position after the closing character."""

import re

_IN_QUOTES = re.compile(r'["\\$`]')
_IN_BRACES = re.compile(r"""["'}\\$`]""")
_IN_PARENS = re.compile(r"""["'#()\\$`]""")
_NAME = re.compile(r"[A-Za-z0-9_]+")

#: Brackets nested deeper than this are taken to end with the text.
DEEPEST = 60


def after_single(text: str, position: int, end: int) -> int:
    """The end of a string, from after its opening `'`."""
    found = text.find("'", position, end)
    return end if found < 0 else found + 1


def after_double(text: str, position: int, end: int, depth: int = 0) -> int:
    """The end of a string, from after its opening `"`."""
    while match := _IN_QUOTES.search(text, position, end):
        position = match.start()
        if match[0] == '"':
            return position + 1
        position = _step(text, position, end, depth)
    return end


def after_dollar(text: str, position: int, end: int, depth: int = 0) -> int:
    """The end of the expansion that a `$` or a back quote begins; the next position where it begins none."""
    if text[position] == "`":
        return after_backquote(text, position + 1, end)
    following = text[position + 1 : position + 2]
    if following == "{":
        return after_brace(text, position + 2, end, depth + 1)
    if following == "(":
        return after_paren(text, position + 2, end, depth + 1)
    stop = position + 1
    if following.isdigit() or following in ("@", "*", "#", "?", "$", "!", "-"):
        return min(stop + 1, end)
    match = _NAME.match(text, stop, end)
    return match.end() if match else stop


def after_backquote(text: str, position: int, end: int) -> int:
    while position < end:
        if text[position] == "`":
            return position + 1
        position += 2 if text[position] == "\\" else 1
    return end


def after_brace(text: str, position: int, end: int, depth: int = 0) -> int:
    """The end of a parameter expansion, from after its `${`."""
    if depth > DEEPEST:
        return end
    while match := _IN_BRACES.search(text, position, end):
        position, character = match.start(), match[0]
        if character == "}":
            return position + 1
        if character == '"':
            position = after_double(text, position + 1, end, depth + 1)
        elif character == "'":
            closed = text.find("'", position + 1, end)
            position = closed + 1 if closed >= 0 else position + 1
        else:
            position = _step(text, position, end, depth)
    return end


def after_paren(text: str, position: int, end: int, depth: int = 0) -> int:
    """The end of a command substitution, from after its `(`."""
    if depth > DEEPEST:
        return end
    nested = 1
    while match := _IN_PARENS.search(text, position, end):
        position, character = match.start(), match[0]
        if character == "'":
            position = after_single(text, position + 1, end)
            continue
        if character == '"':
            position = after_double(text, position + 1, end, depth + 1)
            continue
        if character == "#" and text[position - 1] in " \t\n;(":
            line_end = text.find("\n", position, end)
            position = end if line_end < 0 else line_end
            continue
        nested += (character == "(") - (character == ")")
        if nested == 0:
            return position + 1
        position = _step(text, position, end, depth)
    return end


def _step(text: str, position: int, end: int, depth: int) -> int:
    """The end of one character, escape or expansion."""
    character = text[position]
    if character == "\\":
        return min(position + 2, end)
    if character in "$`":
        return max(after_dollar(text, position, end, depth), position + 1)
    return position + 1


def raw_words(
    text: str, start: int, end: int, operators: tuple[str, ...] = ()
) -> list[tuple[int, int]]:
    """The ranges of the words between blanks; unquoted `operators` are words of their own."""
    found: list[tuple[int, int]] = []
    position = start
    while position < end:
        if text[position] in " \t\n" or text.startswith("\\\n", position):
            position += 2 if text[position] == "\\" else 1
            continue
        if text[position] == "#":
            line_end = text.find("\n", position, end)
            position = end if line_end < 0 else line_end
            continue
        operator = next((item for item in operators if text.startswith(item, position)), None)
        stop = position + len(operator) if operator else word_end(text, position, end, operators)
        found.append((position, stop))
        position = stop
    return found


def word_end(text: str, position: int, end: int, operators: tuple[str, ...]) -> int:
    """Where the word that goes on at `position` ends: at a blank or an unquoted operator."""
    while position < end and text[position] not in " \t\n":
        character = text[position]
        if any(text.startswith(item, position) for item in operators):
            break
        if text.startswith("\\\n", position):
            break
        if character == "'":
            position = after_single(text, position + 1, end)
        elif character == '"':
            position = after_double(text, position + 1, end)
        else:
            position = _step(text, position, end, 0)
    return position
