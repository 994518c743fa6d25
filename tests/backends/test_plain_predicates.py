"""Rules of every target say the same of plain numbers, without numpy, as of columns of layouts."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import parc
from parc.backends import BACKENDS
from parc.compiler.rules.validity import predicates
from parc.compiler.target import Predicate, holds
from parc.dsl.expression import VALUES
from parc.dsl.job import Job
from tests.support.paths import ROOT

JOBS = sorted((ROOT / "examples").glob("*.par"))
LAYOUTS = 300


def layouts(names: tuple[str, ...], seed: str) -> list[dict[str, int]]:
    """Drawn values, odd ones and those beyond any job among them; of a list of words only its numbers."""
    drawn = random.Random(seed)
    values = {name: tuple(VALUES[name].values()) for name in names if name in VALUES}
    degrees = (1, 1, 2, 2, 3, 4, 8, 16, 40, 128)
    return [
        {name: drawn.choice(values.get(name, degrees)) for name in names} for _ in range(LAYOUTS)
    ]


def differing(job: Job, rule: Predicate) -> list[dict[str, int]]:
    """Layouts of which a rule says another thing alone than in columns, or says it with numpy."""
    rows = layouts(rule.of, rule.name)
    columns = {name: np.array([row[name] for row in rows]) for name in rule.of}
    together = np.broadcast_to(holds(rule, job, columns), len(rows)).tolist()
    alone = [rule.holds(job, **row) for row in rows]
    return [
        row
        for row, one, column in zip(rows, alone, together, strict=True)
        if type(one) not in (bool, int) or bool(one) != column
    ]


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
def test_of_numbers_as_of_columns(path: Path) -> None:
    job = parc.load(path)
    assert job.targets
    for spec in job.targets:
        for rule in predicates(BACKENDS[spec.name].target):
            assert not differing(job, rule), (spec.name, rule.name)
