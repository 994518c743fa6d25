"""`$NAME` and `${NAME...}`: defaults, lengths, substrings, prefixes and suffixes, replacement, arrays."""

import re
from collections.abc import Callable
from dataclasses import replace

from ...facts import Unknown
from ..shell import AWAY, HOME, Shell, Variable
from ..source import PlacedText, file_source
from ..trace import MOST_EXPANSIONS, Expansion
from ..values import BREAK, NOTHING, Piece, Text, nonempty, plain, unbroken, unknown_of, with_split
from .arithmetic_expansion import arithmetic_text, arithmetic_value
from .parameter_operators import EDITS

_PARAMETER = re.compile(
    r"(?P<bang>!?)(?P<hash>#?)(?P<name>[A-Za-z_]\w*|\d+|[@*?$!#\-])(?:\[(?P<index>[^\]]*)\])?(?P<star>[*@]?)"
)
_OPERATOR = re.compile(r":[-=?+]|[-=?+]|%%|%|##|#|//|/#|/%|/|\^\^|\^|,,|,|@|:")
Place = tuple[str, int, int]


def parameter(shell: Shell, source: PlacedText, start: int, end: int, quoted: bool) -> list[Piece]:
    """Pieces that a parameter expands to; `start` and `end` bound the text after `$`, or within braces."""
    match = _PARAMETER.match(source.text, start, end)
    place = source.place(max(0, start - 1))
    if match is None:
        shown = source.text[start:end]
        return [Piece(Unknown(f"`${{{shown[:40]}}}` is not understood"), *place, not quoted)]
    name, index = match["name"], match["index"]
    _note(shell, source, match.start("name"), match.end("name"), end)
    rest = match.end("star") if match["bang"] and match["star"] else match.start("star")
    if match["hash"]:
        return [Piece(_length(shell, name, index), *place)]
    if match["bang"]:
        return _indirect(shell, match, place, quoted)
    everything = index in ("@", "*") or (index is None and name in ("@", "*"))
    if everything:
        texts = elements(shell, name)
        return _whole(shell, source, rest, end, texts, quoted, index == "*" or name == "*")
    value = _value(shell, name, index, source, place)
    if rest < end:
        return _operated(shell, source, rest, end, name, value, quoted, place)
    return _given(shell, name, value, quoted, place)


def _note(shell: Shell, source: PlacedText, start: int, behind: int, end: int) -> None:
    """Note that a variable is expanded."""
    if len(shell.world.reads) < MOST_EXPANSIONS:
        text, dollar = source.text, source.text.rfind("$", 0, start)
        rest = text[behind:end] if text.startswith("{", dollar + 1) else ""
        place = source.place(max(0, dollar))
        shell.world.reads.append(Expansion(text[start:behind], rest, *place, behind - dollar))


def _given(shell: Shell, name: str, value: Text | None, quoted: bool, place: Place) -> list[Piece]:
    if value is None:
        return [Piece(shell.missing(name), *place, not quoted)]
    return with_split(value, not quoted)


def _folder(shell: Shell, place: Place) -> Text:
    """The folder that the shell is in, as far as it is known."""
    if not shell.cwd.startswith((AWAY, HOME)):
        return (Piece(shell.cwd or ".", *place),)
    home = Piece(Unknown("the script goes to a folder of the machine", nonempty=True), *place)
    known = shell.cwd[1:]
    return (home, Piece(known, *place)) if known else (home,)


def _value(
    shell: Shell, name: str, index: str | None, source: PlacedText, place: Place
) -> Text | None:
    if name.isdigit():
        return _positional(shell, int(name[:9]))
    if name in SPECIAL:
        return (Piece(SPECIAL[name](shell), *place),)
    if name in ("PWD", "OLDPWD") and name not in shell.variables:
        return _folder(shell, place)
    if name == "BASH_SOURCE":
        return (Piece(shell.path, *place),)
    if index is None:
        return shell.get(name)
    variable = shell.variables.get(name)
    if variable is None or variable.elements is None:
        return variable.value if variable and index == "0" else None
    return _element(shell, variable, index, place)


SPECIAL: dict[str, Callable[[Shell], str | Unknown]] = {
    "#": lambda shell: _count(shell),
    "?": lambda shell: Unknown("the exit status is decided when the script runs"),
    "$": lambda shell: Unknown("the process number is decided when the script runs", nonempty=True),
    "!": lambda shell: Unknown("the process number is decided when the script runs", nonempty=True),
    "-": lambda shell: Unknown("the options of bash are decided when the script runs"),
}


def _count(shell: Shell) -> str | Unknown:
    if shell.awaits_arguments:
        return Unknown("the arguments are given from outside")
    return str(len(shell.positional))


def _positional(shell: Shell, number: int) -> Text | None:
    if number == 0:
        return shell.name or (Piece(shell.path, shell.path, 1, 1),)
    return shell.positional[number - 1] if number <= len(shell.positional) else None


def _element(shell: Shell, variable: Variable, index: str, place: Place) -> Text | None:
    found = variable.elements or {}
    if index in found:
        return found[index]
    inner = _joined(shell, file_source(place[0], index), 0, len(index))
    key = plain(inner) if inner else ""
    if isinstance(key, str) and key in found:
        return found[key]
    number = arithmetic_text(shell, inner, True)
    if isinstance(number, Unknown):
        return (Piece(number, *place),)
    if number < 0:
        number += len(found)
    return found.get(str(number))


def elements(shell: Shell, name: str) -> list[Text]:
    """All elements of an array, or all arguments."""
    if name in ("@", "*"):
        return list(shell.positional)
    variable = shell.variables.get(name)
    if variable is None:
        missing = shell.missing(name)
        if missing.unset:
            return []
        return [(Piece(replace(missing, several=True), shell.path, 1, 1, True),)]
    return [variable.value] if variable.elements is None else list(variable.elements.values())


def _length(shell: Shell, name: str, index: str | None) -> str | Unknown:
    if index in ("@", "*") or name in ("@", "*"):
        texts = elements(shell, name)
        undecided = next((u for text in texts if (u := _hidden(text))), None)
        return undecided or str(len(texts))
    value = _positional(shell, int(name[:9])) if name.isdigit() else shell.get(name)
    if value is None:
        missing = shell.missing(name)
        return "0" if missing.unset else missing
    known = plain(value) if value else ""
    return str(len(known)) if isinstance(known, str) else known


def _hidden(text: Text) -> Unknown | None:
    """The unknown value of an element that may stand for several, which different branches added."""
    return unknown_of(text) if text and all(piece.split for piece in text) else None


def _indirect(shell: Shell, match: re.Match[str], place: Place, quoted: bool) -> list[Piece]:
    name = match["name"]
    if match["index"] in ("@", "*"):
        variable = shell.variables.get(name)
        keys = list((variable.elements or {"0": ()}) if variable else {})
        texts: list[Text] = [(Piece(key, *place),) for key in keys]
        return _separated(texts, quoted)
    if match["star"]:
        names = sorted(known for known in shell.variables if known.startswith(name))
        return _separated([(Piece(known, *place),) for known in names], quoted)
    value = _value(shell, name, None, _NO_SOURCE, place)
    target = plain(value) if value else shell.missing(name)
    if isinstance(target, Unknown):
        return [Piece(target, *place, not quoted)]
    if target.endswith("[@]"):
        return _separated(elements(shell, target[:-3]), quoted)
    return _given(shell, target, shell.get(target), quoted, place)


_NO_SOURCE = PlacedText("", "", [0], [("", 1, 1)])


def _separated(texts: list[Text], quoted: bool) -> list[Piece]:
    found: list[Piece] = []
    for index, text in enumerate(texts):
        if index:
            found.append(BREAK)
        if quoted:
            found += text or (Piece("", "", 1, 1),)
        else:
            found += with_split(text, True)
    return found or ([NOTHING] if quoted else [])


def _whole(
    shell: Shell,
    source: PlacedText,
    start: int,
    end: int,
    texts: list[Text],
    quoted: bool,
    star: bool,
) -> list[Piece]:
    """`${NAME[@]...}`: all elements, each edited by the operator, or a slice of them."""
    operator = _OPERATOR.match(source.text, start, end)
    if operator and operator[0] == ":":
        texts = _slice(shell, source, operator.end(), end, texts)
    elif operator and operator[0] in (":+", "+", ":-", "-", ":=", "="):
        wanted = bool(texts) == operator[0].endswith("+")
        if wanted:
            return _operand(shell, source, operator.end(), end, quoted)
        texts = texts if not operator[0].endswith("+") else []
    elif operator and operator[0] in EDITS:
        texts = [_edited(shell, source, operator, end, text) for text in texts]
    found = _separated(texts, quoted)
    if star and quoted:
        return list(unbroken(found))
    return found


def _slice(shell: Shell, source: PlacedText, start: int, end: int, texts: list[Text]) -> list[Text]:
    bounds = _bounds(shell, source, start, end)
    if bounds is None:
        return [(Piece(Unknown("the slice is not decided"), *source.place(start), True),)]
    first, count = bounds
    arguments = source.text[: start - 1].endswith(("@", "*"))
    first = max(0, first - 1 if arguments and first > 0 else first)
    return texts[first:] if count is None else texts[first : first + count]


def _bounds(
    shell: Shell, source: PlacedText, start: int, end: int
) -> tuple[int, int | None] | None:
    cut = source.text.find(":", start, end)
    first = arithmetic_value(shell, source, start, cut if cut >= 0 else end)
    count = arithmetic_value(shell, source, cut + 1, end) if cut >= 0 else None
    if isinstance(first, Unknown) or isinstance(count, Unknown):
        return None
    return first, count


def _operand(shell: Shell, source: PlacedText, start: int, end: int, quoted: bool) -> list[Piece]:
    expand = shell.world.expand
    found = expand(shell, source, start, end, quoted)
    if quoted:
        # Between double quotes a backslash stays before a brace, save in an operand, which it would end.
        found = [piece._replace(text="}") if piece.text == "\\}" else piece for piece in found]
        text = source.text[start:end]
        if len(text) > 1 and text[0] == text[-1] == '"':
            found = expand(shell, source, start + 1, end - 1, True)
    bare = not quoted and not source.text[start:end].startswith(('"', "'"))
    return [
        (
            piece
            if piece in (BREAK, NOTHING)
            else piece._replace(split=piece.split and not quoted or bare)
        )
        for piece in found
    ]


def _operated(
    shell: Shell,
    source: PlacedText,
    start: int,
    end: int,
    name: str,
    value: Text | None,
    quoted: bool,
    place: Place,
) -> list[Piece]:
    operator = _OPERATOR.match(source.text, start, end)
    if operator is None:
        shown = source.text[start:end]
        return [Piece(Unknown(f"`{shown[:40]}` behind `{name}` is not understood"), *place)]
    symbol = operator[0]
    if symbol[-1] in "-=?+":
        return _default(shell, source, operator, end, name, value, quoted, place)
    if value is None:
        return _given(shell, name, None, quoted, place)
    if symbol == ":":
        return with_split(_substring(shell, source, operator.end(), end, value), not quoted)
    if symbol == "@":
        return with_split(value, not quoted)
    return with_split(_edited(shell, source, operator, end, value), not quoted)


def _default(
    shell: Shell,
    source: PlacedText,
    operator: re.Match[str],
    end: int,
    name: str,
    value: Text | None,
    quoted: bool,
    place: Place,
) -> list[Piece]:
    symbol = operator[0]
    filled = _filled(shell, name, value, symbol.startswith(":"))
    if symbol.endswith("+"):
        if filled is None:
            return [Piece(_undecided(shell, name, value), *place, not quoted)]
        return _operand(shell, source, operator.end(), end, quoted) if filled else []
    if symbol.endswith("?") and filled is False:
        return [Piece(Unknown(f"`{name}` must be given", nonempty=True), *place, not quoted)]
    if filled or symbol.endswith("?"):
        return _given(shell, name, value, quoted, place)
    if filled is None:
        return [Piece(_undecided(shell, name, value), *place, not quoted)]
    found = _operand(shell, source, operator.end(), end, quoted)
    if symbol.endswith("=") and name.isidentifier():
        shell.set(name, unbroken(found))
    return found


def _filled(shell: Shell, name: str, value: Text | None, characters: bool) -> bool | None:
    """Whether a variable is set and, if asked, not empty."""
    if value is None:
        missing = shell.missing(name)
        return False if missing.unset else (True if missing.nonempty else None)
    if not characters:
        return not (value and all(isinstance(p.text, Unknown) and p.text.unset for p in value))
    return nonempty(value)


def _undecided(shell: Shell, name: str, value: Text | None) -> Unknown:
    return (unknown_of(value) if value else None) or shell.missing(name)


def _substring(shell: Shell, source: PlacedText, start: int, end: int, value: Text) -> Text:
    known = plain(value) if value else ""
    bounds = _bounds(shell, source, start, end)
    if isinstance(known, Unknown) or bounds is None:
        unknown = known if isinstance(known, Unknown) else Unknown("the substring is not decided")
        return (value[0]._replace(text=unknown),) if value else ()
    first, count = bounds
    tail = known[first:] if first >= 0 else known[max(0, len(known) + first) :]
    part = tail if count is None else tail[:count]
    return (value[0]._replace(text=part),) if value else ()


def _edited(
    shell: Shell, source: PlacedText, operator: re.Match[str], end: int, value: Text
) -> Text:
    symbol, start = operator[0], operator.end()
    if symbol[0] == "/":
        middle = _separator(source.text, start, end)
        parts = [_joined(shell, source, start, middle), _joined(shell, source, middle + 1, end)]
    else:
        parts = [_joined(shell, source, start, end)]
    texts = [plain(part) if part else "" for part in (value, *parts)]
    unknown = next((text for text in texts if isinstance(text, Unknown)), None)
    if unknown is not None:
        return (value[0]._replace(text=unknown),) if value else ()
    known, *operands = (str(text) for text in texts)
    result = EDITS[symbol](known, "\0".join(operands))
    kept: str | Unknown = Unknown("the text is too long") if result is None else result
    return (value[0]._replace(text=kept),) if value else ()


def _joined(shell: Shell, source: PlacedText, start: int, end: int) -> Text:
    return unbroken(shell.world.expand(shell, source, start, end))


def _separator(text: str, start: int, end: int) -> int:
    position = start
    while position < end and text[position] != "/":
        position += 2 if text[position] == "\\" else 1
    return min(position, end)
