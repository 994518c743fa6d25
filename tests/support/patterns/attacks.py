"""Texts that may slow a pattern down, made from itself: its repeats pumped, behind what leads to them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from re import _constants as ops  # isort: skip
from re import _parser as parser  # isort: skip

#: A repeat of at most so many is of bounded cost.
BOUNDED = 64
#: Tried for a set of characters; the first that are in it stand for it.
CHARACTERS = "a0 \n-_.,=:/\"'\t#${}[]()<>*+|\\@%^&;!?~`AZz9é\r\0"
#: Behind the pumped text, so that a match fails there if one can.
ENDS = ("", "\0", "\n", "!")
REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
#: Repeated by files that stand in a repository as they are.
COMMON = (" ", "\n", "a", "0", "\t", "a ", "a\n", " \n", "a,", "a=", "--a ", "/")


@dataclass(frozen=True)
class Attack:
    """`start`, then `unit` up to a number of characters, then `end`."""

    start: str
    unit: str
    end: str

    def text(self, size: int) -> str:
        return self.start + self.unit * (size // len(self.unit) + 1) + self.end


@dataclass
class Parts:
    """Of a pattern: `pumps` are its repeats, each as what leads to it and what it repeats."""

    pumps: list[tuple[str, str]]
    characters: list[str]
    leads: list[str]


def attacks(pattern: str | bytes, flags: int) -> list[Attack]:
    """The likeliest first."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    tree = parser.parse(text, flags)
    parts = Parts([], [], [])
    whole = "".join(_samples(tree, "", parts)[:1])
    starts = list(dict.fromkeys(["", "\n", *(lead for lead, _ in parts.pumps), *parts.leads]))
    units = dict.fromkeys(
        [
            *(body for _, body in parts.pumps),
            *(lead + body for lead, body in parts.pumps),
            *(lead + " " for lead, _ in parts.pumps),
            *(first + second for (_, first), (_, second) in itertools.pairwise(parts.pumps)),
            whole,
            whole[:-1],
            *starts,
            *parts.characters,
            *COMMON,
        ]
    )
    likely = [(lead, body, end) for end in ENDS[:2] for lead, body in parts.pumps]
    alone = [("", unit, "") for unit in units]
    rest = [(start, unit, end) for end in ENDS for start in starts[:12] for unit in units]
    return [Attack(*each) for each in dict.fromkeys([*likely, *alone, *rest]) if each[1]]


def _samples(tree: Any, lead: str, parts: Parts) -> list[str]:
    """Texts that match the tree, at most three; its repeats go into `parts`, behind the `lead`."""
    found = [""]
    for op, given in tree:
        parts.leads.append(lead + found[0])
        step = _step(op, given, lead + found[0], parts)
        found = ["".join(pair) for pair in itertools.product(found, step)][:3]
    return found


def _step(op: Any, given: Any, lead: str, parts: Parts) -> Sequence[str]:
    if op in REPEATS:
        least, most, body = given
        bodies = _samples(body, lead, parts)
        if most > BOUNDED:
            parts.pumps += [(lead, each) for each in bodies if each]
        return [each * least for each in bodies] if least else ["", *bodies[:1]]
    if op is ops.BRANCH:
        return [text for branch in given[1] for text in _samples(branch, lead, parts)[:1]]
    if op is ops.SUBPATTERN:
        return _samples(given[3], lead, parts)
    if op is ops.ATOMIC_GROUP:
        return _samples(given, lead, parts)
    if op is ops.ASSERT:
        inside = _samples(given[1], lead, parts)
        return inside if given[0] < 0 else [""]
    if op is ops.ASSERT_NOT:
        _samples(given[1], lead, parts)
        return [""]
    if op is ops.GROUPREF_EXISTS:
        return [text for each in given[1:] if each for text in _samples(each, lead, parts)]
    if op in (ops.AT, ops.GROUPREF):
        return [""]
    characters = list(_characters(op, given))
    parts.characters += characters[:3]
    return characters[:3]


def _characters(op: Any, given: Any) -> Iterator[str]:
    if op is ops.LITERAL:
        yield chr(given)
        return
    one = re.compile(_set(op, given), re.DOTALL)
    yield from (each for each in CHARACTERS if one.fullmatch(each))
    if op is ops.IN and given[0][0] is not ops.NEGATE:
        yield from (chr(each[1]) for each in given if each[0] is ops.LITERAL)
        yield from (chr(each[1][0]) for each in given if each[0] is ops.RANGE)


def _set(op: Any, given: Any) -> str:
    if op is ops.ANY:
        return "[^\n]"
    if op is ops.NOT_LITERAL:
        return f"[^{re.escape(chr(given))}]"
    members = "".join(_member(*each) for each in given)
    return f"[{members}]"


_CATEGORIES = {
    ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_NOT_DIGIT: r"\D", ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S", ops.CATEGORY_WORD: r"\w", ops.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _member(op: Any, given: Any) -> str:
    if op is ops.NEGATE:
        return "^"
    if op is ops.RANGE:
        return "-".join(re.escape(chr(each)) for each in given)
    return _CATEGORIES[given] if op is ops.CATEGORY else re.escape(chr(given))
