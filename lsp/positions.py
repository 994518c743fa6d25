"""Characters of a text <-> lines and columns of the protocol: from 0, columns in units of UTF-16.

The protocol ends a line with `\\n`, `\\r\\n` or `\\r` and with nothing else; `str.splitlines` also ends
one at form feeds, U+2028 and others.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache

_END = re.compile(r"\r\n?|\n")
#: Characters that take two units of UTF-16.
_PAIR = re.compile("[\U00010000-\U0010ffff]")


class _Lines:
    """Where the lines of a text begin and end, without their ends, and where its pairs are."""

    def __init__(self, text: str) -> None:
        found = [match.span() for match in _END.finditer(text)]
        self.starts = [0, *(end for _, end in found)]
        self.ends = [*(start for start, _ in found), len(text)]
        self.pairs = [] if text.isascii() else [match.start() for match in _PAIR.finditer(text)]

    def units(self, offset: int) -> int:
        """The place of a character in units of UTF-16."""
        return offset + bisect_left(self.pairs, offset)

    def character(self, units: int) -> int:
        """The character at a place in units of UTF-16; the next one for a place within a pair."""
        behind = bisect_left(self.pairs, units, key=lambda pair: self.units(pair) + 1)
        within = behind and units == self.units(self.pairs[behind - 1]) + 1
        return units - behind + bool(within)


@lru_cache(maxsize=16)
def _lines(text: str) -> _Lines:
    return _Lines(text)


def position_of(text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character; of one in the end of a line, the place before that end."""
    lines = _lines(text)
    line = bisect_right(lines.starts, offset) - 1
    return line, lines.units(min(offset, lines.ends[line])) - lines.units(lines.starts[line])


def offset_of(text: str, line: int, column: int) -> int:
    """The character at a line and column; the nearest one where the text is shorter."""
    lines = _lines(text)
    if line >= len(lines.starts):
        return len(text)
    return min(lines.character(lines.units(lines.starts[line]) + column), lines.ends[line])
