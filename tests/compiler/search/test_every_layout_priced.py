"""Small jobs: the plan equals the best of every legal layout, each priced in all of its placements.

PARC_NEVER_BEATS=all prices all layouts of 100 jobs, else of the jobs among the first that have few of them.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from parc.compiler import plan
from parc.compiler.case import Case
from parc.compiler.plan import Estimate
from parc.compiler.pricing.quantities import price
from parc.compiler.search.sweep import capacity_kib
from parc.dsl import JobError
from tests.support.drawn_jobs import readable_job
from tests.support.drawn_layouts import every_layout, in_every_placement, rows_of
from tests.support.estimate_against_plan import (
    NO_LAYOUT,
    TOLERANCE,
    gain,
    losses,
    quickly_priced,
    stated_best,
)
from tests.support.solver_and_sweep import target_of

WHOLE = os.environ.get("PARC_NEVER_BEATS") == "all"
JOBS = range(100 if WHOLE else 4)
#: Legal layouts of the jobs that are tried where not all are.
FEW = 120


def brute_force(case: Case, most: int | None) -> tuple[bool, Estimate | None]:
    """Whether there are at most so many layouts that fit into a GPU, and the best of them by the numbers of
    their own."""
    columns = every_layout(case)
    every, of = in_every_placement(case, columns)
    rows = np.unique(of[price(case, every).memory_kib <= capacity_kib(case)])
    if most is not None and len(rows) > most:
        return False, None
    found = [quickly_priced(case, layout) for layout in rows_of(columns, rows)]
    met = [each for each in found if each is not None]
    return True, min(met, key=lambda each: losses(case, each), default=None)


@pytest.mark.parametrize("seed", JOBS)
def test_the_plan_is_the_best_of_all(seed: int) -> None:
    drawn = readable_job(seed, small=True).exact()
    print(drawn.text)  # shown where the test fails
    job = drawn.job()
    case = Case(job, target_of(job))
    few, best = brute_force(case, None if WHOLE else FEW)
    if not few:
        pytest.skip("too many layouts: PARC_NEVER_BEATS=all has them priced")
    try:
        found = stated_best(case, plan(job, case.target))
    except JobError as error:
        assert {each.code for each in error.diagnostics} <= NO_LAYOUT, error
        assert best is None, f"refused, and this meets the goal: {best and best.layout}"
        return
    assert best is not None
    better = gain(case, best, found)
    assert abs(better) <= TOLERANCE, f"{better:.4%} better: {best.layout} than {found.layout}"
