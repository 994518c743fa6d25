"""A text <-> how it stands between double quotes in a `.par` file, and what no text may have."""

import re

from .. import codes
from ..diagnostics import Diagnostic, Span

#: What follows a backslash in a quoted text -> the character that it means.
ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
#: A zero byte, which ends a text in C, and half of a surrogate pair, which UTF-8 cannot hold.
UNWRITABLE = re.compile("[\0\ud800-\udfff]")
#: A half of a pair of UTF-16, which JSON and Python may spell and UTF-8 cannot hold.
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_ESCAPED = _SURROGATES | {ord(meant): f"\\{letter}" for letter, meant in ESCAPES.items()}


def quoted(text: str) -> str:
    """The text between double quotes, as the language reads it back: `a"b` is `"a\\"b"`."""
    return f'"{text.translate(_ESCAPED)}"'


def shortened(text: str) -> str:
    """A text that a message names: of 40 characters at most."""
    return text if len(text) <= 40 else f"{text[:37]}..."


def unwritable(text: str, span: Span) -> list[Diagnostic]:
    """The complaint about a text that no emitted file can hold; none about any other."""
    found = UNWRITABLE.search(text)
    if found is None:
        return []
    kind = "a zero byte" if found[0] == "\0" else f"{ascii(found[0])}, which is not UTF-8"
    return [Diagnostic(codes.UNWRITABLE_TEXT, f"a text holds {kind}", span, help="take it out")]
