"""Values of words and variables: pieces of text, each with its place, some of them unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..facts import Unknown


class Piece(NamedTuple):
    """A run of characters in one line of a file, or an unknown value; where `split`, blanks end words."""

    text: str | Unknown
    path: str
    line: int
    column: int
    split: bool = False


Text = tuple[Piece, ...]
BLANKS = " \t\n"
#: Ends a word where no blank does: between the elements of `"${ARRAY[@]}"`.
BREAK = Piece(Unknown("the end of a word"), "", 0, 0)
#: An empty array between quotes: it yields no word unless the quotes hold something else.
NOTHING = Piece(Unknown("no word"), "", 0, 0)


class Word(NamedTuple):
    """One word of a command after expansion."""

    pieces: Text

    @property
    def text(self) -> str | Unknown:
        return plain(self.pieces)

    @property
    def lead(self) -> str:
        """The text up to the first unknown piece."""
        return "".join(_known(self.pieces))

    @property
    def tail(self) -> str:
        """The text after the last unknown piece."""
        return "".join(reversed([*_known(reversed(self.pieces))]))

    @property
    def origin(self) -> Piece:
        """The first piece that has characters: where the text was written."""
        return next((piece for piece in self.pieces if piece.text != ""), self.pieces[0])

    @property
    def path(self) -> str:
        return self.origin.path

    @property
    def line(self) -> int:
        return self.origin.line

    @property
    def column(self) -> int:
        return self.origin.column

    @property
    def hidden(self) -> Unknown | None:
        """The unknown piece by which an unquoted word may expand to no word, one or several; else None."""
        several = next((piece.text for piece in self.pieces if piece.split and _spreads(piece)), "")
        if isinstance(several, Unknown):
            return several
        if all(piece.split and isinstance(piece.text, Unknown) for piece in self.pieces):
            return next((u for u in unknowns(self.pieces) if not u.unset), None) or unknown_of(
                self.pieces
            )
        return None

    def cut(self, start: int) -> Word:
        """The word without its first `start` characters, which must be known; its column moves with them."""
        rest = list(self.pieces)
        while start and rest:
            piece = rest.pop(0)
            if isinstance(piece.text, Unknown):
                continue
            if len(piece.text) > start:
                rest.insert(0, shifted(piece, start))
            start = max(0, start - len(piece.text))
        return Word(tuple(rest) or (self.pieces[-1]._replace(text=""),))


def _known(pieces: Iterable[Piece]) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece.text, Unknown):
            return
        yield piece.text


def shifted(piece: Piece, start: int) -> Piece:
    """A known piece without its first characters."""
    text = str(piece.text)
    return Piece(text[start:], piece.path, piece.line, piece.column + start, piece.split)


def word(text: str | Unknown, path: str = "", line: int = 1, column: int = 1) -> Word:
    return Word((Piece(text, path, line, column),))


def plain(text: Text) -> str | Unknown:
    """The text, or why it is unknown: an unset variable is the reason only if there is no other."""
    if len(text) == 1:
        return text[0].text
    parts = []
    for piece in text:
        if isinstance(piece.text, Unknown):
            return unknown_of(text) or piece.text
        parts.append(piece.text)
    return "".join(parts)


def lenient(text: Text) -> str | Unknown:
    """The text, or why it is unknown; unset variables are empty, as bash expands them."""
    for piece in text:
        if isinstance(piece.text, Unknown) and not piece.text.unset:
            return piece.text
    return "".join(piece.text for piece in text if isinstance(piece.text, str))


def unknowns(text: Text) -> list[Unknown]:
    return [piece.text for piece in text if isinstance(piece.text, Unknown)]


def unknown_of(text: Text) -> Unknown | None:
    """The first unknown piece of a text, preferring one that is not merely unset."""
    found = unknowns(text)
    return next((unknown for unknown in found if not unknown.unset), found[0] if found else None)


def nonempty(text: Text) -> bool | None:
    """Whether the text has any character, None where that is undecided."""
    undecided = False
    for piece in text:
        if isinstance(piece.text, str):
            if piece.text:
                return True
        elif not piece.text.unset:
            if piece.text.nonempty:
                return True
            undecided = True
    return None if undecided else False


def with_split(text: Text, split: bool) -> list[Piece]:
    return [piece if piece.split == split else Piece(*piece[:4], split) for piece in text]


def words_of(pieces: Iterable[Piece]) -> list[Word]:
    """Word splitting: blanks end a word where `split` says so; a quoted nothing is a word."""
    words: list[Word] = []
    current: list[Piece] = []
    for piece in pieces:
        if piece is BREAK or (piece.split and isinstance(piece.text, str)):
            pending = [] if piece is BREAK else _fields(piece)
            if piece is BREAK:
                _close(words, current)
            for field in pending:
                if field is None:
                    _close(words, current)
                else:
                    current.append(field)
        elif piece.split and (several := _several(piece)):
            _around(words, current, piece, several)
        else:
            current.append(piece)
    _close(words, current)
    return words


def _spreads(piece: Piece) -> bool:
    """Whether an unknown piece may be several words."""
    array = isinstance(piece.text, Unknown) and piece.text.several
    return array or bool(_several(piece))


def _several(piece: Piece) -> tuple[str, ...]:
    """The alternatives of an unknown piece, if one of them has several words."""
    if not isinstance(piece.text, Unknown):
        return ()
    options = piece.text.alternatives
    return options if any(blank in option for option in options for blank in BLANKS) else ()


def _around(
    words: list[Word], current: list[Piece], piece: Piece, several: tuple[str, ...]
) -> None:
    """Add an unknown piece; where every alternative begins or ends with a blank, a word ends there."""
    if all(not option or option[0] in BLANKS for option in several):
        _close(words, current)
    current.append(piece)
    if all(not option or option[-1] in BLANKS for option in several):
        _close(words, current)


def _close(words: list[Word], current: list[Piece]) -> None:
    if current:
        words.append(Word(tuple(current)))
        current.clear()


def _fields(piece: Piece) -> Iterator[Piece | None]:
    """The words in one unquoted piece; None where a blank ends one."""
    text, start = str(piece.text), -1
    for index, character in enumerate(text):
        if character in BLANKS:
            if start >= 0:
                yield Piece(text[start:index], piece.path, piece.line, piece.column + start, False)
                start = -1
            yield None
        elif start < 0:
            start = index
    if start >= 0:
        yield Piece(text[start:], piece.path, piece.line, piece.column + start, False)


def joined(words: Sequence[Word], separator: str = " ") -> Text:
    """Words as one text, as `"$*"` and `eval` have it."""
    pieces: list[Piece] = []
    for index, item in enumerate(words):
        if index:
            last = pieces[-1]
            column = last.column + (len(last.text) if isinstance(last.text, str) else 0)
            pieces.append(Piece(separator, last.path, last.line, column))
        pieces += item.pieces
    return tuple(pieces)


def unbroken(found: Sequence[Piece]) -> Text:
    """Pieces as one text: a blank where a word ends between two of them."""
    kept: list[Piece] = []
    for index, piece in enumerate(found):
        if piece is NOTHING:
            continue
        if piece is not BREAK:
            kept.append(piece if not piece.split else Piece(*piece[:4], False))
        elif 0 < index < len(found) - 1:
            last = found[index - 1]
            kept.append(Piece(" ", last.path, last.line, last.column))
    return tuple(kept)


def size(text: Text) -> int:
    """The cost of a value against the budget: three for each piece, one for every ten characters."""
    characters = sum(len(piece.text) for piece in text if isinstance(piece.text, str))
    return 3 * len(text) + characters // 10


def whole(text: str) -> int | None:
    """A number as Python's `int` reads it: `6_000_000` is one."""
    if not 0 < len(text) <= 30:
        return None
    try:
        return int(text)
    except ValueError:
        return None
