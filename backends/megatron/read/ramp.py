"""How Megatron-LM writes a batch that grows, now and in older versions -> a ramp of the language."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ....dsl.batch_ramp import Stage, stages
from ....reading.facts import LaunchConfig, texts_of

_SUFFIXES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_NUMBER = re.compile(r"(\d{1,18}(?:\.\d{1,12})?)([KMBT]?)")


@dataclass(frozen=True)
class Ramp:
    """Sequences of the first step and tokens until the batch is full; `stages` count sequences."""

    first: int
    tokens: int
    stages: tuple[Stage, ...]


def batch_ramp(config: LaunchConfig) -> Ramp | None:
    """The ramp of a command; None where the batch is constant or grows unevenly."""
    full, seq_len = config.number("global_batch"), config.number("seq_len")
    if not full or not seq_len:
        return None
    sizes = schedule_of(texts_of(config.option("--step-batch-size-schedule")))
    old = [_number(text) for text in texts_of(config.option("--rampup-batch-size"))]
    if len(sizes) > 1:
        first, tokens = sizes[0][1], sizes[-1][0]
    elif len(old) == 3 and old[0] and old[0] == old[1] and old[2]:
        first, tokens = old[0], old[2] * seq_len
    else:
        return None
    found = stages(first, full, tokens // seq_len)
    even = not sizes or [(each.begins, each.batch) for each in found] == [
        (threshold // seq_len, batch) for threshold, batch in sizes
    ]
    return Ramp(first, tokens, found) if found and even else None


def schedule_of(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Tokens and sequences of `0:768 250B:1536`; none for other texts.

    num_microbatches_calculator.py _parse_schedule
    """
    pairs = [entry.split(":") for text in texts for entry in text.replace(",", " ").split()]
    numbers = [[_number(part) for part in pair] for pair in pairs]
    found = [(pair[0], pair[1]) for pair in numbers if len(pair) == 2]
    plain = [(begins, batch) for begins, batch in found if begins is not None and batch]
    return sorted(plain) if len(plain) == len(pairs) else []


def _number(text: str) -> int | None:
    match = _NUMBER.fullmatch(text.strip().upper().replace("_", ""))
    return int(float(match[1]) * _SUFFIXES[match[2]]) if match else None
