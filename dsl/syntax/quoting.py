"""A text <-> how it stands between double quotes in a `.par` file."""

#: What follows a backslash in a quoted text -> the character that it means.
ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = str.maketrans({meant: f"\\{letter}" for letter, meant in ESCAPES.items()})


def quoted(text: str) -> str:
    """The text between double quotes, as the language reads it back: `a"b` is `"a\\"b"`."""
    return f'"{text.translate(_ESCAPED)}"'
