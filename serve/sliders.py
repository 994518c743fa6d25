"""The numbers that a job writes -> sliders: each with its place and the numbers that it may become.

Choices do not depend on where a slider stands, but for the number that is written, so that moving one does
not
change its scale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..dsl.syntax.tree import Block, Clause, Let, Node, Number, Setting, children
from ..lsp.document import Document
from .editing import place_json

#: Least and most of the settings that people turn, where they are written without a suffix.
RANGES: dict[tuple[str, str], tuple[int, int]] = {
    ("cluster", "nodes"): (1, 4096),
    ("cluster", "gpus_per_node"): (1, 16),
    ("model", "layers"): (1, 256),
    ("model", "experts"): (2, 512),
    ("train", "seq_len"): (512, 2**20),
    ("train", "global_batch"): (1, 2**16),
    ("train", "steps"): (1000, 1_024_000),
    ("train", "tokens"): (10**6, 2**40),
}
#: Of a constant.
LET_RANGE = (1, 4096)
#: Digits before a suffix or a unit: 0.125M to 1024M.
SUFFIXED_RANGE = (Fraction(1, 8), 1024)
#: Settings between whose doublings the halves stand too: 1, 2, 3, 4, 6, 8, 12.
FINE = {("cluster", "nodes"), ("model", "layers")}
PERCENT = range(1, 101)
#: The most sliders of one job.
MOST = 24

_NUMBER = re.compile(r"([0-9][0-9_]*(?:\.[0-9_]+)?)([eE][+-]?[0-9]+)?(.*)", re.DOTALL)


@dataclass(frozen=True)
class Slider:
    """A number at the characters from `start` to `end`: the text number `at` of its choices."""

    name: str
    start: int
    end: int
    choices: Sequence[str]
    at: int

    def to_json(self, text: str) -> dict[str, object]:
        place = place_json(text, self.start, self.end)
        return {"name": self.name, **place, "choices": list(self.choices), "at": self.at}


def sliders(document: Document) -> list[Slider]:
    """The sliders of a job, in the order of its text, their names distinct."""
    found: dict[str, Slider] = {}
    for name, number, key in _numbers(document):
        choices = _choices(number.text, key)
        if choices and number.span.end <= len(document.text) and len(found) < MOST:
            span = number.span
            at = choices.index(number.text)
            found.setdefault(name, Slider(name, span.start, span.end, choices, at))
    return list(found.values())


def _numbers(document: Document) -> Iterator[tuple[str, Number, tuple[str, str]]]:
    """Numbers with what they are called and the setting that they are the value of."""
    for statement in document.file.statements:
        if isinstance(statement, Let) and isinstance(statement.value, Number):
            yield statement.name.name, statement.value, ("let", statement.name.name)
        elif isinstance(statement, Block):
            for item in statement.items:
                yield from _of_item(statement.kind.name, item)


def _of_item(kind: str, item: Setting | Clause) -> Iterator[tuple[str, Number, tuple[str, str]]]:
    if isinstance(item, Setting):
        if isinstance(item.value, Number):
            yield f"{kind}.{item.key.name}", item.value, (kind, item.key.name)
        return
    for number in _numbers_in(item.condition):
        words = " ".join(item.condition.span.text.replace(number.span.text, "", 1).split())
        yield f"{item.keyword.name} {words}", number, (kind, item.keyword.name)


def _numbers_in(node: Node) -> Iterator[Number]:
    """Numbers of a condition; depth is bounded by the parser."""
    if isinstance(node, Number):
        yield node
    for part in children(node):
        yield from _numbers_in(part)


def _choices(text: str, key: tuple[str, str]) -> list[str]:
    """Values that a number may take, in order; none for a number without a natural range."""
    read = _NUMBER.fullmatch(text)
    if read is None or read[2]:
        return []
    written, rest = Fraction(read[1].replace("_", "")), read[3]
    if rest.strip() == "%":
        values = {Fraction(each) for each in PERCENT}
    elif key not in RANGES and key[0] != "let":
        return []
    elif rest.strip() in ("", "tokens", "sequences"):
        low, high = RANGES.get(key, LET_RANGE)
        values = set(_doublings(Fraction(low), high, key in FINE))
    else:
        values = set(_doublings(*SUFFIXED_RANGE, key in FINE))
    ordered = sorted(values | {written})
    return [text if value == written else f"{_plain(value)}{rest}" for value in ordered]


def _doublings(low: Fraction, high: int, fine: bool) -> Iterator[Fraction]:
    value = low
    while value <= high:
        yield value
        half = value * 3 / 2
        if fine and half <= high and half.denominator == 1:
            yield half
        value *= 2


def _plain(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))
