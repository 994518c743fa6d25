"""How starts end: rows of `endings.csv`, of which the batch script's judge takes the first that matches."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Ending:
    """An end by what the job's output says of it.

    `kind`: slurm, time, cancelled (SLURM ended it); node, network (may pass); host (may pass where a
    checkpoint was written); early (does not, unless one was written); final (comes back). `pattern` is an
    extended regular expression for a line, of which `example` is one.
    """

    kind: str
    what: str
    pattern: str
    example: str
    source: str


@cache
def endings() -> tuple[Ending, ...]:
    with Path(__file__).with_name("endings.csv").open(encoding="utf-8", newline="") as file:
        return tuple(Ending(**row) for row in csv.DictReader(file))
