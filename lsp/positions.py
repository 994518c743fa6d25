"""Characters of a text <-> lines and columns as editors count them: from 0, columns in units of UTF-16."""


def position_of(text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character."""
    start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset), _units(text[start:offset])


def offset_of(text: str, line: int, column: int) -> int:
    """The character at a line and column; the nearest one where the text is shorter."""
    start = 0
    for _ in range(line):
        end = text.find("\n", start)
        if end < 0:
            return len(text)
        start = end + 1
    while column > 0 and start < len(text) and text[start] != "\n":
        column -= _units(text[start])
        start += 1
    return start


def _units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)
