"""Placeholders for values that a user writes: `<PATH>`, `PATH TO DATA`, `{ name }`, `your_x`, `[[NODES]]`.

Templates are published with them. They are no values: a reader takes them for unknown, and a rule says so.
"""

import re
from collections.abc import Iterator, Sequence

from .bash.values import Piece, Text, Word
from .facts import Unknown

_INSIDE = r"[A-Za-z](?:[^<>\n|&;$`]{0,70}[^<>\n|&;$`\s])?"
#: `<name>`: as a shell reads it, two redirections. A closing mark that a file's name follows is one.
ANGLES = rf"<{_INSIDE}>"
#: `#NAME#`, as JUBE fills it in; in a directive it would begin a comment.
MARKED = r"#[A-Z][A-Z0-9_]*#"
#: `[[NODES]]` and `{{ nodes }}`, as programs that write scripts fill them in, anywhere in a word.
TEMPLATE = r"\[\[[A-Za-z][\w.-]*\]\]|\{\{ ?[A-Za-z][^{}\n]{0,70}\}\}"
_TEMPLATE = re.compile(TEMPLATE)
#: Words that tell that a run of capitals asks for something.
_ASKED = r"(?:PATH|DIR|DIRECTORY|FOLDER|FILE|NAME|YOUR)"
_WORDS = r"[A-Z][A-Z_]{0,40}"
_CAPITALS = rf"(?:{_WORDS}[ ]){{0,12}}{_ASKED}(?:[ ]{_WORDS})+|(?:{_WORDS}[ ]){{1,12}}{_ASKED}"
_BRACES = r"\{(?:[ ][A-Za-z][\w -]{0,40}[ ]|[A-Z]+_[A-Z_]+|[Yy]our[ ][\w -]{0,40})\}"
_NAMES = r"YOUR_[A-Z_]+|your[-_]\w[\w-]*|(?:CHANGE|FIX)_?(?:THIS|ME)|PATH_TO_[A-Z_]+"
_YOUR = r"[Yy]our(?: [\w./-]+)+"
_WHOLE = re.compile(
    rf"{ANGLES}|{MARKED}|{TEMPLATE}|{_CAPITALS}|{_BRACES}|{_YOUR}|(?:{_NAMES})|\.{{0,2}}/?path[_/]to/\S*"
)
#: Where one stands in a line; a blank, a quote, `=` or a part of a path is before it.
IN_LINE = re.compile(
    rf"(?:(?<=[=\s\"':/])|^)(?:{ANGLES}|(?<=[\"'=\s]){_CAPITALS}(?![\w-])|{_BRACES}|(?:{_NAMES})\b)"
)
#: Most words of one.
_LONGEST = 12
_OPENING = re.compile(r"[<{A-Z./py#]")
_OPTION = re.compile(r"--[a-z][\w-]*=(?=[<{#])")


def is_placeholder(text: str) -> bool:
    """Whether a whole text is to be replaced."""
    return _WHOLE.fullmatch(text) is not None


def unfilled(text: str) -> Unknown:
    """The unknown value that a reader takes a placeholder for."""
    return Unknown(f"`{text}` is to be filled in", nonempty=True)


def filled(words: Sequence[Word]) -> list[Word]:
    """Words of a command with each placeholder as one unknown word."""
    found: list[Word] = []
    index = 0
    while index < len(words):
        stop = _end(words, index)
        found.append(_unfilled(words[index:stop]) if stop > index else _templated(words[index]))
        index = max(stop, index + 1)
    return found


def _end(words: Sequence[Word], start: int) -> int:
    """Where a placeholder ends that begins at a word; `start` where none does."""
    before = _before(words[start])
    if not _OPENING.match(words[start].lead[before:]):
        return start
    texts: list[str] = []
    for word in words[start : start + _LONGEST]:
        text = word.text if texts or not isinstance(word.text, str) else word.text[before:]
        if not isinstance(text, str) or text.startswith("-"):
            break
        texts.append(text)
    for count in range(len(texts), 0, -1):
        if is_placeholder(" ".join(texts[:count])):
            return start + count
    return start


def _templated(word: Word) -> Word:
    """A word with each name of a template in it as an unknown piece."""
    if not any(
        isinstance(piece.text, str) and _TEMPLATE.search(piece.text) for piece in word.pieces
    ):
        return word
    return Word(tuple(cut for piece in word.pieces for cut in _cut(piece)))


def _cut(piece: Piece) -> Iterator[Piece]:
    """A piece as runs of characters and names of a template, in turn."""
    if isinstance(piece.text, Unknown):
        yield piece
        return
    end = 0
    for found in _TEMPLATE.finditer(piece.text):
        before, name = piece.text[end : found.start()], unfilled(found[0])
        yield piece._replace(text=before, column=piece.column + end)
        yield piece._replace(text=name, column=piece.column + found.start())
        end = found.end()
    yield piece._replace(text=piece.text[end:], column=piece.column + end)


def _before(word: Word) -> int:
    """Length of the option that a placeholder follows in one word, as in `--account=<YOUR ACCOUNT>`."""
    found = _OPTION.match(word.lead)
    return found.end() if found else 0


def _unfilled(words: Sequence[Word]) -> Word:
    before = _before(words[0])
    text = " ".join(str(word.text) for word in words)[before:]
    first = words[0].origin
    option: Text = (first._replace(text=words[0].lead[:before]),) if before else ()
    value = Piece(unfilled(text), first.path, first.line, first.column + before)
    return Word((*option, value))
