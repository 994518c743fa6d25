"""Pieces of a text -> its lines: what stands together on one, what is opened over several, and how deep."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from .pieces import HOLDERS, Comment, Piece

#: Columns that a line takes at most, where it can be broken; comments and what stands in columns come on top.
WIDTH = 100
INDENT = 2
#: Brackets nested more deeply are not indented further: a text of brackets alone would grow with its square.
MAX_LEVELS = 40
#: Terminals before which a long expression in brackets is broken, loosest first, and their rules.
_LOOSEST_FIRST = (("OR",), ("AND",), ("COMPARE", "IN", "NOT"), ("PLUS", "MINUS"), ("SCALE",))
_OPERATIONS = {"binary", "comparison", "membership"}
#: Rules whose brackets hold items with commas between them.
_LISTS = {"row", "members", "call"}
#: Clauses that are no conditions, and so stand in no column with them.
_OBJECTIVES = {"maximize", "minimize"}
_TIGHT_BEFORE = {"COMMA", "RPAR", "RSQB"}
_TIGHT_AFTER = {"LPAR", "LSQB"}


@dataclass(slots=True)
class Line:
    """One line: its cells, which `columns` puts below those of its neighbours of the same kind.

    `kind` is "setting", "let", "clause", "objective", "block NAME", "comment", or "text", in no column.
    """

    indent: int
    kind: str
    cells: list[str]
    comment: str = ""
    blank: bool = False


def lines(pieces: list[Piece]) -> list[Line]:
    """The lines of a whole file."""
    layout = _Layout(pieces)
    layout.statements(0, len(pieces) - 1, 0)
    layout.finish()
    return layout.lines


def _indented(indent: int, levels: int) -> int:
    return indent + INDENT * min(levels, MAX_LEVELS)


def _space(left: Piece, right: Piece) -> str:
    """The space between two pieces on one line."""
    if left.rule in HOLDERS and left.opens:
        return "" if right.closes else " "
    if left.type in _TIGHT_AFTER or right.type in _TIGHT_BEFORE or right.type == "_SEP":
        return ""
    if left.rule == "unary" and left.type == "MINUS":
        return ""
    if right.type == "LPAR" and right.rule == "call":
        return ""
    if "members" in (left.rule if left.opens else "", right.rule if right.closes else ""):
        return ""
    return "" if "tight_range" in (left.rule, right.rule) else " "


def _brackets(pieces: list[Piece]) -> tuple[dict[int, int], list[bool]]:
    """Where each bracket closes, and whether each piece is a bracket that must be opened.

    It is one that holds a comment or was written with an end of line in it: in blocks and tables anywhere, in
    others right after the bracket.
    """
    closing: dict[int, int] = {}
    must_open = [False] * len(pieces)
    opened: list[int] = []
    for at, piece in enumerate(pieces):
        if opened:
            first = at == opened[-1] + 1
            breaks = first or pieces[opened[-1]].rule in HOLDERS
            if piece.comments or (piece.breaks and breaks and not (first and piece.closes)):
                must_open[opened[-1]] = True
        if piece.opens:
            opened.append(at)
        elif piece.closes:
            start = opened.pop()
            closing[start] = at
            if opened and must_open[start]:
                must_open[opened[-1]] = True
    return closing, must_open


@dataclass(slots=True)
class _Opened:
    """A bracket that is being written over several lines; `breaks` are the pieces that begin a line in it."""

    start: int
    close: int
    #: Lines may end anywhere: a `(` or `[` is open. In a set alone they end after items only.
    free: bool
    breaks: frozenset[int] = frozenset()


class _Layout:
    """Writes pieces to lines, from left to right. Ranges of pieces are `start`, `end`, the end exclusive."""

    def __init__(self, pieces: list[Piece]):
        self.pieces = pieces
        self.lines: list[Line] = []
        self.current: Line | None = None
        self.spaces = ["", *map(_space, pieces, pieces[1:])]
        widths = (
            len(space) + len(piece.text) for space, piece in zip(self.spaces, pieces, strict=True)
        )
        self.width_before = [0, *accumulate(widths)]
        self.closing, must_open = _brackets(pieces)
        self.open_before = [0, *accumulate(must_open)]
        self.comments_before = [0, *accumulate(len(piece.comments) for piece in pieces)]

    def statements(self, start: int, end: int, indent: int) -> None:
        """The settings, clauses or statements of a file, block or table, each from a line of its own on."""
        while start < end:
            stop = self._end_of_statement(start, end)
            self._begin_line(start, indent)
            self._statement(start, stop, indent)
            start = stop + 1

    def finish(self) -> None:
        """The comments after the last statement."""
        self._comments(len(self.pieces) - 1, 0)
        self._end_line()

    def _end_of_statement(self, start: int, end: int) -> int:
        while start < end and self.pieces[start].type != "_SEP":
            start = self.closing.get(start, start) + 1
        return start

    def _statement(self, start: int, end: int, indent: int) -> None:
        """One statement, on one line where it may and can."""
        before, line = len(self.lines), self.current
        if not self._stays(start, end):
            self._over_lines(start, end, indent)
        if len(self.lines) == before and line is not None:
            line.kind, line.cells = self._cells(start, end)

    def _stays(self, start: int, end: int) -> bool:
        """Whether pieces may stand on one line, and fit on the current one."""
        if self.open_before[end] > self.open_before[start]:
            return False
        used = 0 if self.current is None else self.current.indent + len(self.current.cells[0])
        return used + self.width_before[end] - self.width_before[start] <= WIDTH

    def _flat(self, start: int, end: int) -> str:
        parts = (f"{self.spaces[at]}{self.pieces[at].text}" for at in range(start, end))
        return "".join(parts).removeprefix(self.spaces[start])

    def _cells(self, start: int, end: int) -> tuple[str, list[str]]:
        """The kind of a statement that stands on one line, and its cells."""
        first = self.pieces[start]
        match first.rule:
            case "setting" | "quoted" | "let":
                cut = self._find("EQUAL", start, end)
                kind = "let" if first.rule == "let" else "setting"
                return kind, [self._flat(start, cut), self._flat(cut, end)]
            case "clause":
                cut = self._find("COLON", start, end)
                reason = [self._flat(cut, end)] if cut < end else []
                kind = "objective" if first.text in _OBJECTIVES else "clause"
                return kind, [first.text, self._flat(start + 1, cut), *reason]
            case "head":
                cut = self._find("LBRACE", start, end)
                return f"block {first.text}", [self._flat(start, cut), self._flat(cut, end)]
        return "text", [self._flat(start, end)]

    def _find(self, type: str, start: int, end: int) -> int:
        return next((at for at in range(start, end) if self.pieces[at].type == type), end)

    def _over_lines(self, at: int, end: int, indent: int) -> None:
        """A statement in which every bracket is opened that must be, or that does not fit on its line."""
        opened: list[_Opened] = []
        while at < end:
            piece, inner = self.pieces[at], _indented(indent, len(opened))
            close = self.closing.get(at)
            if opened and at == opened[-1].close:
                self._close(opened.pop(), _indented(indent, len(opened)))
            elif close is None:
                self._write(at, inner, opened)
                if piece.type == "COMMA":
                    self._begin_item(at + 1, inner, opened[-1])
            elif self._stays(at, close + 1):
                self._write(at, inner, opened, close + 1)
                at = close
            elif piece.rule in HOLDERS:
                self._write(at, inner, opened)
                self.statements(at + 1, close, inner + INDENT)
                self._close(_Opened(at, close, False), inner)
                at = close
            else:
                self._write(at, inner, opened)
                free = piece.type != "LBRACE" or any(each.free for each in opened)
                opened.append(_Opened(at, close, free))
                self._begin_item(at + 1, _indented(indent, len(opened)), opened[-1])
            at += 1

    def _write(self, at: int, indent: int, opened: list[_Opened], end: int | None = None) -> None:
        """Appends pieces to the line, or to a new one where that is needed before them."""
        if self.pieces[at].comments or (opened and at in opened[-1].breaks):
            self._begin_line(at, indent)
        assert self.current is not None
        text = self._flat(at, at + 1 if end is None else end)
        begun = bool(self.current.cells[0])
        self.current.cells[0] += f"{self.spaces[at] if begun else ''}{text}"

    def _begin_item(self, at: int, indent: int, bracket: _Opened) -> None:
        """A new line for an item of a list, or for what stands in parentheses."""
        if at == bracket.close:
            return
        end = self._end_of_item(at, bracket)
        self._begin_line(at, indent)
        commented = self.comments_before[end] > self.comments_before[at + 1]
        fits = self._stays(at, end) and not commented
        bracket.breaks = self._operators(at, end) if bracket.free and not fits else frozenset()

    def _end_of_item(self, at: int, bracket: _Opened) -> int:
        while at < bracket.close and self.pieces[at].type != "COMMA":
            at = self.closing.get(at, at) + 1
        return at

    def _operators(self, at: int, end: int) -> frozenset[int]:
        """The loosest operators of an expression."""
        found: dict[str, list[int]] = {}
        while at < end:
            piece = self.pieces[at]
            second = piece.type == "IN" and self.pieces[at - 1].type == "NOT"
            if piece.rule in _OPERATIONS and not second:
                found.setdefault(piece.type, []).append(at)
            at = self.closing.get(at, at) + 1
        for types in _LOOSEST_FIRST:
            if loosest := [place for type in types for place in found.get(type, ())]:
                return frozenset(loosest)
        return frozenset()

    def _close(self, bracket: _Opened, indent: int) -> None:
        """The closing bracket, on a line of its own; a list has a comma after its last item."""
        piece, first = self.pieces[bracket.close], bracket.start + 1
        assert self.current is not None
        if piece.rule in _LISTS and first < bracket.close:
            self.current.cells[-1] += ","
        self._comments(bracket.close, indent + INDENT)
        self._end_line()
        self.current = Line(indent, "text", [piece.text])

    def _begin_line(self, at: int, indent: int) -> None:
        """Ends the line before a piece, with the comments between them."""
        self._comments(at, indent)
        self._end_line()
        self.current = Line(indent, "text", [""], blank=self._blank(self.pieces[at].blank))

    def _comments(self, at: int, indent: int) -> None:
        """The comments before a piece, behind the code that they follow or on lines of their own."""
        for comment in self.pieces[at].comments:
            self._comment(comment, indent)
        self.pieces[at].comments = []

    def _comment(self, comment: Comment, indent: int) -> None:
        if comment.after_code and self.current is not None:
            self.current.comment = comment.text
            self._end_line()
            return
        self._end_line()
        blank = self._blank(comment.blank)
        self.lines.append(Line(indent, "comment", [comment.text], blank=blank))

    def _end_line(self) -> None:
        if self.current is not None:
            self.lines.append(self.current)
        self.current = None

    def _blank(self, wanted: bool) -> bool:
        """Whether a blank line may stand here: not at the start of a file or after an opening bracket."""
        if not wanted or not self.lines:
            return False
        last = self.lines[-1]
        return last.kind != "text" or last.cells[-1][-1] not in "([{"
