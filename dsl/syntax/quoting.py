"""A text <-> how it stands between double quotes in a `.par` file."""

#: What follows a backslash in a quoted text -> the character that it means.
ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
#: A half of a pair of UTF-16, which JSON and Python may spell and UTF-8 cannot hold.
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_ESCAPED = _SURROGATES | {ord(meant): f"\\{letter}" for letter, meant in ESCAPES.items()}


def quoted(text: str) -> str:
    """The text between double quotes, as the language reads it back: `a"b` is `"a\\"b"`."""
    return f'"{text.translate(_ESCAPED)}"'
