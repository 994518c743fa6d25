"""Text that is parsed as bash, from a file or assembled by a script, whose every character has a place."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from ..facts import Unknown
from ..placeholders import ANGLES
from .values import Piece, Text

#: Private-use characters that stand for unknown pieces in a text that is parsed again.
_FIRST_MARK = 0xF0000
_MARK = re.compile("[\U000f0000-\U000ffffd]")
#: `NAME=<put yours here>` and `--load <PATH>` are no bash, but scripts have them. A `>` that a name follows
#: redirects, as in `sort <names >sorted`.
_PLACEHOLDER = re.compile(
    rf"(?<==)<(?![<(&])[^<>\n]*>|(?<=[\s\"'/]){ANGLES}(?=[\"'/,:)]|\s*(?:-|\\\n|\n|$))"
)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
#: A dollar that begins no expansion is a character of its word, as bash takes it.
_PLAIN_DOLLAR = re.compile(r"\$(?=[/.,:=%+~])")


@dataclass(frozen=True)
class PlacedText:
    """Runs of characters, as the lines of a file: run i begins at `starts[i]` and comes from `places[i]`."""

    text: str
    path: str
    starts: list[int]
    places: list[tuple[str, int, int]]
    unknown: dict[str, Unknown] = field(default_factory=dict)

    @cached_property
    def parsable(self) -> bytes:
        """The text with one byte for each character; placeholders and dollars of no name as plain words."""
        text = _PLACEHOLDER.sub(lambda match: "_" * len(match[0]), self.text)
        return _BEYOND_ASCII.sub("x", _PLAIN_DOLLAR.sub("x", text)).encode("ascii")

    @cached_property
    def placeholders(self) -> dict[int, int]:
        """End of each placeholder by its start."""
        return {match.start(): match.end() for match in _PLACEHOLDER.finditer(self.text)}

    def place(self, offset: int) -> tuple[str, int, int]:
        """Path, line and column of a character."""
        index = bisect_right(self.starts, offset) - 1
        path, line, column = self.places[index]
        return path, line, column + offset - self.starts[index]

    def pieces(self, start: int, end: int, split: bool = False) -> list[Piece]:
        """The characters as they stand, one piece for each run; marks become what they stand for."""
        found: list[Piece] = []
        index = bisect_right(self.starts, start) - 1
        while start < end:
            stop = self.starts[index + 1] if index + 1 < len(self.starts) else end
            stop = min(stop, end)
            path, line, column = self.places[index]
            column += start - self.starts[index]
            text = self.text[start:stop]
            if self.unknown and _MARK.search(text):
                found += self._marked(text, path, line, column, split)
            elif text:
                found.append(Piece(text, path, line, column, split))
            start, index = stop, index + 1
        return found

    def _marked(self, text: str, path: str, line: int, column: int, split: bool) -> list[Piece]:
        found: list[Piece] = []
        position = 0
        for match in _MARK.finditer(text):
            if match.start() > position:
                piece = text[position : match.start()]
                found.append(Piece(piece, path, line, column + position, split))
            value = self.unknown.get(match[0], match[0])
            found.append(Piece(value, path, line, column + match.start(), split))
            position = match.end()
        if position < len(text):
            found.append(Piece(text[position:], path, line, column + position, split))
        return found


def file_source(path: str, text: str) -> PlacedText:
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return PlacedText(text, path, starts, [(path, line, 1) for line in range(1, len(starts) + 1)])


def text_source(text: Text, path: str) -> PlacedText:
    """A value as a text to parse; each piece keeps its place."""
    parts: list[str] = []
    starts: list[int] = []
    places: list[tuple[str, int, int]] = []
    unknown: dict[str, Unknown] = {}
    offset = 0
    for piece in text:
        part = piece.text
        if isinstance(part, Unknown):
            if part.unset:
                continue
            mark = chr(_FIRST_MARK + len(unknown) % 0xFFFE)
            unknown[mark] = part
            part = mark
        parts.append(part)
        starts.append(offset)
        places.append((piece.path, piece.line, piece.column))
        offset += len(part)
    return PlacedText("".join(parts), path, starts or [0], places or [(path, 1, 1)], unknown)
