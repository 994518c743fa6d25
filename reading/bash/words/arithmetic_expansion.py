"""`$((...))` and subscripts -> numbers: names are looked up in the shell, and assigned there."""

from ...facts import Unknown
from ..shell import Shell
from ..source import PlacedText, text_source
from ..trace import MOST_EXPANSIONS, Expansion
from ..values import Piece, Text, plain, unbroken
from . import arithmetic


def arithmetic_value(
    shell: Shell, source: PlacedText, start: int, end: int, strict: bool = True
) -> int | Unknown:
    """The value of an expression. `strict`: an unset name is unknown; otherwise it is 0, as in bash."""
    found = unbroken(shell.world.expand(shell, source, start, end, True))
    return arithmetic_text(shell, found, strict)


def arithmetic_text(shell: Shell, text: Text, strict: bool, depth: int = 0) -> int | Unknown:
    if strict:
        unset = next(
            (piece.text for piece in text if isinstance(piece.text, Unknown) and piece.text.unset),
            None,
        )
        if unset is not None:
            return unset
    flat = text_source(text, shell.path)

    def lookup(name: str) -> int | Unknown:
        if len(shell.world.reads) < MOST_EXPANSIONS:
            shell.world.reads.append(Expansion(name, "", *flat.place(0), len(name)))
        value = _element(shell, name)
        if value is None:
            missing = shell.missing(name.partition("[")[0])
            return 0 if not strict and missing.unset else missing
        known = plain(value) if value else ""
        if isinstance(known, str) and known.isdecimal() and (known == "0" or known[0] != "0"):
            return int(known[:30])
        if depth > 8:
            return Unknown(f"`{name}` names itself")
        return arithmetic_text(shell, value, strict, depth + 1)

    def assign(name: str, value: int | Unknown) -> None:
        text = value if isinstance(value, Unknown) else str(value)
        shell.set(name.partition("[")[0], (Piece(text, *flat.place(0)),))

    return arithmetic.evaluate(flat.text, lookup, assign, flat.unknown)


def _element(shell: Shell, name: str) -> Text | None:
    if "[" not in name:
        return shell.get(name)
    base, _, index = name.rstrip("]").partition("[")
    variable = shell.variables.get(base)
    if variable is None or variable.elements is None:
        return None
    return variable.elements.get(index.strip("$\"' "), variable.elements.get(_index(shell, index)))


def _index(shell: Shell, index: str) -> str:
    value = shell.get(index.strip("$"))
    known = plain(value) if value else ""
    return known if isinstance(known, str) else ""
