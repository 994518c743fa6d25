"""Lark's tree of a text -> its tokens in order, each with the comments and line breaks before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lark import Token, Tree

from .numbers import canonical_number

#: Type of the piece after the last token of a file; its text is empty.
END = "$END"
OPENING, CLOSING = {"LPAR", "LSQB", "LBRACE"}, {"RPAR", "RSQB", "RBRACE"}
#: Rules of the grammar whose braces hold settings and clauses, one a line or joined by `;`.
HOLDERS = {"body", "map"}
_GAP = re.compile(r"#[^\n]*|\n|;")


@dataclass(slots=True)
class Comment:
    """`after_code`: code precedes it on its line. `blank`: a blank line precedes it."""

    text: str
    after_code: bool
    blank: bool


@dataclass(slots=True)
class Piece:
    """One token, and what stands between the last one and it.

    `type` is the grammar's terminal, `rule` the rule that it belongs to; `breaks` says whether a line ends
    before it, `blank` whether a blank line does. `_SEP` ends a setting; its own text is of no interest.
    """

    type: str
    text: str
    rule: str
    comments: list[Comment] = field(default_factory=list)
    breaks: bool = False
    blank: bool = False

    @property
    def opens(self) -> bool:
        return self.type in OPENING

    @property
    def closes(self) -> bool:
        return self.type in CLOSING


def pieces(tree: Tree[Token], text: str) -> list[Piece]:
    """Every token of a sound text, then `END`; commas before a closing bracket are left out."""
    found: list[Piece] = []
    at = 0
    for token, rule in _tokens(tree):
        if token.type == "_SEP":
            if rule != "members":
                found.append(Piece("_SEP", ";", rule))
            continue
        shown = canonical_number(token) if token.type == "NUMBER" else str(token)
        found.append(Piece(token.type, shown, rule))
        _read_gap(text[at : token.start_pos], found[-1], starts_file=at == 0)
        at = token.end_pos or 0
    found.append(Piece(END, "", "start"))
    _read_gap(text[at:], found[-1], starts_file=at == 0)
    return _without_last_commas(found)


def _tokens(tree: Tree[Token]) -> Iterator[tuple[Token, str]]:
    """Tokens from left to right with their rules; a range of two words is a `tight_range`. No recursion."""
    waiting: list[tuple[Token | Tree[Token], str]] = [(tree, "")]
    while waiting:
        node, rule = waiting.pop()
        if isinstance(node, Token):
            yield node, rule
            continue
        name = str(node.data)
        if name == "range" and all(_is_word(end) for end in (node.children[0], node.children[2])):
            name = "tight_range"
        waiting.extend((child, name) for child in reversed(node.children))


def _is_word(node: Token | Tree[Token]) -> bool:
    return isinstance(node, Tree) and node.data in ("number", "identifier")


def _read_gap(gap: str, piece: Piece, starts_file: bool) -> None:
    """Notes the comments and line breaks of the text before a piece."""
    if not gap or gap.isspace() and "\n" not in gap:
        return
    breaks, since = starts_file, 0
    for match in _GAP.finditer(gap):
        if match[0] == "\n":
            breaks, since = True, since + 1
        else:
            if match[0] != ";":
                piece.comments.append(Comment(match[0].rstrip(), not breaks, since > 1))
            since = 0
    piece.breaks, piece.blank = breaks, since > 1


def _without_last_commas(found: list[Piece]) -> list[Piece]:
    """Drops what separates nothing from nothing; comments before a comma go behind it."""
    kept: list[Piece] = []
    for piece, after in zip(found, [*found[1:], found[-1]], strict=True):
        last = after.closes or after.type == END
        if piece.type == "COMMA":
            after.comments[:0] = piece.comments
            piece.comments = []
        elif piece.type == "_SEP":
            last = last or not kept or kept[-1].opens
        else:
            last = False
        if not last:
            kept.append(piece)
    return kept
