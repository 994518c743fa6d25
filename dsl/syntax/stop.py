"""Where a parser stopped in a text, what is on the line around it, and edits of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..diagnostics import Edit, Fix, Source, Span

#: Help, and the cure.
Cure = tuple[str, Fix | None] | None
#: The kinds of blocks.
BLOCK = r"(?:model|gpu|cluster|train|goal|target|launch)\b"
#: Characters of the longest line that a person may have slipped in, and how far behind it a slip may end.
LONGEST, REACH = 1_000, 2_000
#: Characters of the longest head of a block.
_HEAD = 200
#: What ends a value, unread.
END = r"[ \t]*(?=\n|;|}|#|\Z)"


@dataclass(frozen=True)
class Stop:
    """Where the parser stopped in `text`, which begins at `offset` of the source, and what it found there."""

    source: Source
    offset: int
    text: str
    at: int
    found: str

    @property
    def line(self) -> int:
        """Where the line begins."""
        return self.text.rfind("\n", 0, self.at) + 1

    @property
    def before(self) -> str:
        """The line up to here, from the last boundary of settings on."""
        return re.split(r"[{};]", self.text[self.line : self.at])[-1]

    @property
    def block(self) -> str | None:
        """The kind of the innermost block that is open here, as far as braces tell; None in none."""
        depth = 0
        for brace in reversed(list(re.finditer(r"[{}]", self.text[: self.at]))):
            depth += 1 if brace[0] == "}" else -1
            if depth < 0:
                depth, start = 0, max(0, brace.start() - _HEAD)
                line = self.text[start : brace.start()].rpartition("\n")[2]
                if head := re.search(rf"(?:^|[\s;}}])({BLOCK})[^=]*$", line):
                    return head[1]
        return None

    def around(self, pattern: str) -> re.Match[str] | None:
        """The match on this line that holds the place, or that ends there; none on a line of `LONGEST`
        characters, in which a search takes the square of them."""
        line, end, stop = self.line, self.text.find("\n", self.at), len(self.text)
        if (stop if end < 0 else end) - line > LONGEST:
            return None
        if 0 <= end < stop - REACH:
            stop = self.text.rfind("\n", end, end + REACH)
        for match in re.compile(pattern, re.MULTILINE).finditer(self.text, line, stop):
            if match.start() > self.at:
                return None
            if self.at <= match.end():
                return match
        return None

    def edit(self, start: int, end: int, text: str) -> Edit:
        return Edit(Span(self.source, self.offset + start, self.offset + end), text)

    def fix(self, start: int, end: int, text: str, safe: bool = True) -> Fix:
        return Fix((self.edit(start, end, text),), safe)
