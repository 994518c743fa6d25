"""`[ ... ]`, `[[ ... ]]` and `test`: true, false, or None where the text does not decide it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ...facts import Unknown
from ..shell import DEEPEST, Shell, text_key
from ..source import PlacedText
from ..values import Text, lenient, nonempty, plain, unknowns
from ..words import glob_patterns, regular_expressions
from ..words.arithmetic_expansion import arithmetic_text
from ..words.closing_marks import raw_words
from ..words.word_expansion import joined, words
from .control_flow import Status as Verdict

_OPERATORS = ("&&", "||", "(", ")")


@dataclass
class _Operand:
    """One word of a test; `raw` is its spelling, None for what came from an expansion."""

    text: Text
    raw: str
    given_from_outside: bool = False

    @property
    def known(self) -> str | Unknown:
        return plain(self.text) if self.text and self.given_from_outside else lenient(self.text)

    @property
    def filled(self) -> Verdict:
        """Whether the operand is not empty."""
        verdict = nonempty(self.text)
        return (
            None
            if verdict is False and self.given_from_outside and unknowns(self.text)
            else verdict
        )


def bracket(shell: Shell, source: PlacedText, start: int, end: int) -> Verdict:
    """The inside of `[[ ... ]]`."""
    spans = _patterns_whole(source.text, list(raw_words(source.text, start, end, _OPERATORS)))
    operands = [
        _Operand(
            joined(shell, source, *span), source.text[slice(*span)], shell.world.given_from_outside
        )
        for span in spans
    ]
    return _Test(shell, operands, True).whole()


def _patterns_whole(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The words of a test; parentheses of a regular expression do not part it."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        word = text[start:end]
        after = len(found) > 1 and text[slice(*found[-2])] == "=~"
        joins = after and start == found[-1][1] and word not in ("&&", "||")
        pattern = text[slice(*found[-1])] if joins else ""
        if joins and (word != ")" or pattern.count("(") > pattern.count(")")):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def test(shell: Shell, source: PlacedText, start: int, end: int) -> Verdict:
    """The inside of `[ ... ]`, with words split as bash splits them."""
    operands: list[_Operand] = []
    for span in raw_words(source.text, start, end):
        raw = source.text[slice(*span)]
        for word in words(shell, source, *span):
            quoted = raw[0] in "\"'" or not all(
                isinstance(piece.text, Unknown) and piece.text.unset for piece in word.pieces
            )
            outside = shell.world.given_from_outside
            if quoted or outside:
                operands.append(_Operand(word.pieces, raw, outside))
    return _Test(shell, operands, False).whole()


def test_words(shell: Shell, texts: list[Text]) -> Verdict:
    """The arguments of `test`."""
    return _Test(shell, [_Operand(text, str(lenient(text))) for text in texts], False).whole()


@dataclass
class _Test:
    shell: Shell
    operands: list[_Operand]
    double: bool
    position: int = 0
    depth: int = 0

    def whole(self) -> Verdict:
        if not self.operands:
            return False
        verdict = self.either()
        if self.position < len(self.operands):
            return None if self.double else False
        return verdict

    def raw(self, ahead: int = 0) -> str:
        index = self.position + ahead
        return self.operands[index].raw if index < len(self.operands) else ""

    def either(self) -> Verdict:
        verdict = self.both()
        while self.raw() in ("||", "-o") and self.position < len(self.operands):
            self.position += 1
            other = self.both()
            verdict = True if verdict or other else (None if None in (verdict, other) else False)
        return verdict

    def both(self) -> Verdict:
        verdict = self.negated()
        while self.raw() in ("&&", "-a"):
            self.position += 1
            other = self.negated()
            known = False not in (verdict, other)
            verdict = (None if None in (verdict, other) else True) if known else False
        return verdict

    def negated(self) -> Verdict:
        if self.raw() == "!" and self.position + 1 < len(self.operands):
            self.position += 1
            self.depth += 1
            verdict = self.negated() if self.depth < DEEPEST else None
            return None if verdict is None else not verdict
        return self.primary()

    def primary(self) -> Verdict:
        if self.position >= len(self.operands):
            return False
        if self.raw() == "(" and self.double and self.depth < DEEPEST:
            self.depth += 1
            self.position += 1
            verdict = self.either()
            self.position += 1
            return verdict
        operator = self.raw(1)
        if operator in BINARY and self.position + 2 < len(self.operands):
            left, right = self.operands[self.position], self.operands[self.position + 2]
            self.position += 3
            return self.compared(operator, left, right)
        if self.raw() in UNARY and self.position + 1 < len(self.operands):
            check, operand = UNARY[self.raw()], self.operands[self.position + 1]
            self.position += 2
            return check(self.shell, operand)
        operand = self.operands[self.position]
        self.position += 1
        return operand.filled

    def compared(self, operator: str, left: _Operand, right: _Operand) -> Verdict:
        if operator in NUMERIC:
            return self.numeric(operator, left, right)
        known, other = left.known, right.known
        if isinstance(known, Unknown) or isinstance(other, Unknown):
            return _among(known, other) if operator in ("=", "==") else None
        if operator == "=~":
            return regular_expressions.matches(right.raw, other, known)
        if operator in ("<", ">"):
            return known < other if operator == "<" else known > other
        pattern = self.double and right.raw[:1] not in ("'", '"')
        equal = glob_patterns.matches(other, known) if pattern else known == other
        return equal if operator != "!=" or equal is None else not equal

    def numeric(self, operator: str, left: _Operand, right: _Operand) -> Verdict:
        numbers = []
        for operand in (left, right):
            known = operand.known
            if isinstance(known, Unknown):
                return None
            if self.double:
                value = arithmetic_text(self.shell, operand.text, False)
                if isinstance(value, Unknown):
                    return None if unknowns(operand.text) else False
                numbers.append(value)
            elif re.fullmatch(r"\s*[+-]?\d{1,18}\s*", known):
                numbers.append(int(known))
            else:
                # An argument or a variable that the caller is to give: no script is run to fail here.
                return None if unknowns(operand.text) else False
        return NUMERIC[operator](*numbers)


def _among(known: str | Unknown, other: str | Unknown) -> Verdict:
    """Equality with an unknown value: False where no alternative is equal, None where one is."""
    unknown, text = (known, other) if isinstance(known, Unknown) else (other, known)
    if isinstance(unknown, Unknown) and unknown.alternatives and isinstance(text, str):
        return None if text in unknown.alternatives or any(c in text for c in "*?[") else False
    return None


def _exists(shell: Shell, operand: _Operand) -> Verdict:
    if text_key(operand.text) in shell.files:
        return True
    known = operand.known
    if known == "":
        return False
    return True if shell.world.find(operand.text, shell) is not None else None


def _empty(shell: Shell, operand: _Operand) -> Verdict:
    filled = operand.filled
    return None if filled is None else not filled


def _is_set(shell: Shell, operand: _Operand) -> Verdict:
    name = operand.known
    if isinstance(name, Unknown) or "[" in name:
        return None
    value = shell.get(name)
    if value is None:
        missing = shell.missing(name)
        return False if missing.unset else None
    return True


def _never_known(shell: Shell, operand: _Operand) -> Verdict:
    return None


UNARY: dict[str, Callable[[Shell, _Operand], Verdict]] = {
    "-z": _empty,
    "-n": lambda shell, operand: operand.filled,
    "-v": _is_set,
    "-f": _exists,
    "-e": _exists,
    "-s": _exists,
    "-r": _exists,
    **dict.fromkeys(("-d", "-w", "-x", "-L", "-h", "-p", "-S", "-t", "-b", "-c"), _never_known),
}
NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
BINARY = frozenset({"=", "==", "!=", "=~", "<", ">", *NUMERIC})
