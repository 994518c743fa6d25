"""The exchange of context parallelism: a layout is priced alone as it is among others."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.time import context_exchange
from tests.support.sample_plans import LLAMA3_8B, sample_plan

LAYOUTS = list(product([1, 2, 4, 8], [1, 2, 3, 4, 8, 16], [1, 2]))


def case(target: str) -> Case:
    """A new one each time, so that nothing is known of it yet."""
    job = sample_plan(target, BACKENDS[target].target.options(), model=LLAMA3_8B).job
    return Case(job, BACKENDS[target].target)


@pytest.mark.parametrize("target", ["megatron", "deepspeed", "torchtitan"])
@pytest.mark.parametrize("function", [context_exchange.parts, context_exchange.seconds])
def test_a_layout_alone_is_priced_as_among_others(target: str, function: object) -> None:
    assert callable(function)
    columns = [np.array(column) for column in zip(*LAYOUTS, strict=True)]
    together = np.broadcast_to(function(case(target), *columns), len(LAYOUTS))
    alone = [function(case(target), *(np.array([value]) for value in each)) for each in LAYOUTS]
    assert together.tolist() == [float(np.ravel(value)[0]) for value in alone]
    assert function is context_exchange.parts or len(set(together.tolist())) > 10
