"""Layers of every pipeline stage -> the settings of torchtitan 0.2.2 that mean exactly that split."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Counted:
    """torchtitan deals `layers + first_less + last_less` evenly over stages of at most `layers_per_stage`."""

    layers_per_stage: int
    first_less: int
    last_less: int


def counted(split: Sequence[int]) -> Counted | None:
    """The numbers by which torchtitan makes this split itself, its defaults first; None if there are none."""
    most = max(split) + 2
    candidates = sorted(
        ((a, b) for a in range(most) for b in range(most)), key=lambda less: (less != (1, 1), less)
    )
    for first_less, last_less in candidates:
        per_stage = math.ceil((sum(split) + first_less + last_less) / len(split))
        if deal(sum(split), per_stage, first_less, last_less) == tuple(split):
            return Counted(per_stage, first_less, last_less)
    return None


def deal(layers: int, per_stage: int, first_less: int, last_less: int) -> tuple[int, ...] | None:
    """Layers of each stage as torchtitan deals them (pipeline_parallel.py:76, 226); None where it refuses."""
    units = layers + first_less + last_less
    count = math.ceil(units / per_stage)
    least, more = divmod(units, count)
    if least == 0 or max(first_less, last_less) > least:
        return None
    dealt = [least + (stage < more) for stage in range(count)]
    if count > 1:
        dealt[0] -= first_less
        dealt[-1] -= last_less
    return tuple(dealt)


def module_names(split: Sequence[int], output: str = "output") -> list[list[str]]:
    """Names of the modules of each stage, for any split (`module_fqns_per_model_part`).

    `output` is what the release calls the output matrix.
    """
    parts, begin = [], 0
    for count in split:
        parts.append([f"layers.{layer}" for layer in range(begin, begin + count)])
        begin += count
    return [["tok_embeddings", *parts[0]], *parts[1:-1], [*parts[-1], "norm", output]]
