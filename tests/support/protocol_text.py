"""The text of an editor as the Language Server Protocol defines it: units of UTF-16 in lines.

Written from the protocol alone, unit by unit, so that it can judge `parc.lsp`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lsprotocol import types

_LINE_FEED, _RETURN = 10, 13


@dataclass
class ProtocolText:
    """Units of UTF-16, of which an edit replaces some."""

    units: list[int]

    @classmethod
    def of(cls, text: str) -> ProtocolText:
        data = text.encode("utf-16-le")
        return cls([data[each] + 256 * data[each + 1] for each in range(0, len(data), 2)])

    @property
    def text(self) -> str:
        return b"".join(unit.to_bytes(2, "little") for unit in self.units).decode("utf-16-le")

    def lines(self) -> list[tuple[int, int]]:
        """First unit of each line, and the one behind its last, its end not counted."""
        found, start, at = [], 0, 0
        while at < len(self.units):
            if self.units[at] not in (_LINE_FEED, _RETURN):
                at += 1
                continue
            found.append((start, at))
            at += 2 if self.units[at : at + 2] == [_RETURN, _LINE_FEED] else 1
            start = at
        return [*found, (start, at)]

    def place(self, position: types.Position) -> int:
        """The unit at a position. One beyond its line is the line's end, one beyond the text the text's."""
        lines = self.lines()
        if position.line >= len(lines):
            return len(self.units)
        start, end = lines[position.line]
        return min(start + position.character, end)

    def position(self, unit: int) -> types.Position:
        """The position of a unit that is in no end of a line."""
        for number, (start, end) in enumerate(self.lines()):
            if start <= unit <= end:
                return types.Position(number, unit - start)
        raise ValueError(f"unit {unit} is in an end of a line")

    def stands_at(self, area: types.Range) -> str:
        """What a range covers."""
        return ProtocolText(self.units[self.place(area.start) : self.place(area.end)]).text

    def edit(self, area: types.Range, new: str) -> None:
        start, end = self.place(area.start), self.place(area.end)
        self.units[start:end] = ProtocolText.of(new).units

    def edited(self, edits: Iterable[types.TextEdit | types.AnnotatedTextEdit]) -> str:
        """The text after edits that do not overlap, each of which is about the text before."""
        found = ProtocolText(list(self.units))
        for each in sorted(edits, key=lambda edit: -self.place(edit.range.start)):
            found.edit(each.range, each.new_text)
        return found.text
