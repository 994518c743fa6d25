"""A word as written -> pieces: quotes, `$NAME`, `${...}`, `$(...)`, `$((...))`."""

import re

from ...facts import Unknown
from ...placeholders import unfilled
from ..shell import DEEPEST, MOST_PIECES, Shell
from ..source import PlacedText, text_source
from ..statements.run_statement import run_text
from ..values import NOTHING, Piece, Text, Word, unbroken, with_split, words_of
from .arithmetic_expansion import arithmetic_value
from .closing_marks import after_dollar, after_double, after_single
from .parameter_expansion import parameter

_NAME = re.compile(r"[A-Za-z_]\w*|[@*#?$!\-]|\d")
_SPECIAL = re.compile(r"[$`\"'\\]")
_ESCAPED_IN_QUOTES = frozenset('"\\$`\n')
_BRACES = re.compile(r"([^\s{}$'\"`\\]*)\{([^\s{}$'\"`\\]*)\}([^\s{}$'\"`\\]*)")
_ANSI = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "r": "\r", "0": "\0"}


def words(shell: Shell, source: PlacedText, start: int, end: int) -> list[Word]:
    """The words that one word of the source becomes."""
    text = source.text
    if "{" in text[start:end] and (match := _BRACES.fullmatch(text, start, end)):
        options = _braces(match[2])
        if options is not None:
            path, line, column = source.place(start)
            return [
                Word((Piece(f"{match[1]}{option}{match[3]}", path, line, column),))
                for option in options
            ]
    return words_of(pieces(shell, source, start, end))


def _braces(inside: str) -> list[str] | None:
    """`a,b` or `1..4` between braces."""
    if "," in inside:
        return inside.split(",")
    match = re.fullmatch(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(\d{1,9}))?", inside)
    if match is None:
        return None
    first, last, step = int(match[1]), int(match[2]), int(match[3] or 1) or 1
    if abs(last - first) // step > 10_000:
        return None
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [str(number) for number in numbers]


def joined(shell: Shell, source: PlacedText, start: int, end: int) -> Text:
    """The word as one text, as an assignment takes it."""
    return unbroken(pieces(shell, source, start, end))


def pieces(
    shell: Shell,
    source: PlacedText,
    start: int,
    end: int,
    quoted: bool = False,
    heredoc: bool = False,
) -> list[Piece]:
    """The expansion of a range. `quoted`: as between double quotes; `heredoc`: with `"` as a character."""
    found: list[Piece] = []
    text, position = source.text, start
    shell.world.budget.spend_words()
    while position < end:
        if not quoted and position in source.placeholders:
            stop = min(source.placeholders[position], end)
            found.append(Piece(unfilled(text[position:stop]), *source.place(position)))
            position = stop
            continue
        match = _SPECIAL.search(text, position, end)
        stop = match.start() if match else end
        if stop > position:
            found += _unquoted(source, position, stop, quoted)
            position = stop
        if match:
            position = _special(shell, source, position, end, quoted, heredoc, found)
        if heredoc and len(found) > MOST_PIECES:
            return [Piece(Unknown("it has too many parts"), *source.place(start))]
    return found


def _unquoted(source: PlacedText, start: int, end: int, quoted: bool) -> list[Piece]:
    """Plain characters; what is unknown of a text that `eval` reads again may be several words."""
    found = source.pieces(start, end)
    return [
        piece._replace(split=not quoted) if isinstance(piece.text, Unknown) else piece
        for piece in found
    ]


def _special(
    shell: Shell,
    source: PlacedText,
    position: int,
    end: int,
    quoted: bool,
    heredoc: bool,
    found: list[Piece],
) -> int:
    text = source.text
    character = text[position]
    following = text[position + 1 : position + 2] if position + 1 < end else ""
    if character == "\\":
        return _escape(source, position, end, quoted, found)
    if character in "$`" and not (following in ("'", '"') and character == "$" and not quoted):
        stop = after_dollar(text, position, end)
        if stop == position + 1 and character == "$":
            found += source.pieces(position, stop)
        else:
            found += expansion(shell, source, position, stop, quoted)
        return max(stop, position + 1)
    if character == "$":
        return _ansi(source, position, end, found) if following == "'" else position + 1
    if quoted:
        if character == "'" or heredoc:
            found += source.pieces(position, position + 1)
        return position + 1
    stop = (after_single if character == "'" else after_double)(text, position + 1, end)
    inner = stop - 1 if stop > position + 1 and text[stop - 1] == character else stop
    if character == "'":
        inside = source.pieces(position + 1, inner)
    else:
        inside = pieces(shell, source, position + 1, inner, True)
    if not inside or any(piece is not NOTHING for piece in inside):
        found.append(Piece("", *source.place(position)))
    found += [piece for piece in inside if piece is not NOTHING]
    return stop


def _escape(source: PlacedText, position: int, end: int, quoted: bool, found: list[Piece]) -> int:
    following = source.text[position + 1 : position + 2] if position + 1 < end else ""
    if following == "\n":
        return position + 2
    if quoted and following not in _ESCAPED_IN_QUOTES:
        found += source.pieces(position, min(position + 2, end))
    else:
        found += source.pieces(position + 1, min(position + 2, end))
    return position + 2


def _ansi(source: PlacedText, position: int, end: int, found: list[Piece]) -> int:
    text, stop = source.text, position + 2
    while stop < end and text[stop] != "'":
        stop += 2 if text[stop] == "\\" else 1
    inside = text[position + 2 : min(stop, end)]
    decoded = re.sub(r"\\(.)", lambda match: _ANSI.get(match[1], match[0]), inside, flags=re.DOTALL)
    found.append(Piece(decoded, *source.place(position)))
    return stop + 1


def expansion(shell: Shell, source: PlacedText, start: int, end: int, quoted: bool) -> list[Piece]:
    """The expansion of `$...` or of a command in back quotes."""
    text = source.text
    if text[start] == "`" or (text.startswith("$(", start) and not _arithmetic(text, start, end)):
        skip = 1 if text[start] == "`" else 2
        inner = end - 1 if text[end - 1] in "`)" and end - start > skip else end
        return _tagged(substituted(shell, source, start + skip, inner, start, end), quoted)
    if text.startswith("$((", start):
        value = arithmetic_value(shell, source, start + 3, end - 2)
        found = value if isinstance(value, Unknown) else str(value)
        return [Piece(found, *source.place(start), not quoted)]
    if text.startswith("${", start):
        inner = end - 1 if text[end - 1] == "}" else end
        return parameter(shell, source, start + 2, inner, quoted)
    return parameter(shell, source, start + 1, end, quoted)


def _arithmetic(text: str, start: int, end: int) -> bool:
    return text.startswith("$((", start) and text.endswith("))", start + 3, end)


def _tagged(text: Text, quoted: bool) -> list[Piece]:
    return with_split(text, not quoted)


def substituted(
    shell: Shell, source: PlacedText, start: int, end: int, outer: int, stop: int
) -> Text:
    """`$(...)`: the output of a command, unknown where it cannot be derived without running it."""
    place = source.place(outer)
    shown = " ".join(source.text[outer:stop].split())
    reason = (
        f"`{shown if len(shown) <= 80 else shown[:77] + '...'}` is decided when the script runs"
    )
    if shell.depth > DEEPEST:
        return (Piece(Unknown(reason), *place),)
    inner = shell.fork()
    inner.output, inner.stdin, inner.depth = [], None, shell.depth + 1
    body = source.pieces(start, end)
    if source.text[outer] == "`":
        body = [
            (
                piece._replace(text=re.sub(r"\\([$`\\])", r"\1", piece.text))
                if isinstance(piece.text, str)
                else piece
            )
            for piece in body
        ]
    run_text(inner, text_source(tuple(body), source.path))
    return _output(inner.output, reason, place)


def _output(output: list[Piece], reason: str, place: tuple[str, int, int]) -> Text:
    """Output without trailing newlines; unknown pieces name the whole command as their reason."""
    kept = [
        (
            piece._replace(text=Unknown(reason, piece.text.alternatives))
            if isinstance(piece.text, Unknown) and not piece.text.unset
            else piece
        )
        for piece in output
    ]
    while kept and isinstance(kept[-1].text, str):
        text = kept[-1].text.rstrip("\n")
        if text:
            kept[-1] = kept[-1]._replace(text=text)
            break
        kept.pop()
    return tuple(kept)
