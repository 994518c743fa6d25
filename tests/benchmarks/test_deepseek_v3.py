"""DeepSeek-V3's own training, with the stack that its authors describe (arXiv 2412.19437)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.accuracy.setups.stacks import STACKS
from parc import compiler
from parc.backends import BACKENDS
from parc.compiler.plan import Estimate
from parc.compiler.target import Target
from parc.dsl import loads
from parc.dsl.expression import VALUES

#: Table 1: 2,664,000 H800 hours for 14.8 T tokens.
HOURS_PER_TRILLION = 2_664e3 / 14.8
SEQUENCES, SEQUENCE, GPUS = 15360, 4096, 2048
JOB = f"""
model m from std.deepseek_v3 {{}}
cluster c from std.h800_pod {{}}
train {{ seq_len = {SEQUENCE}; global_batch = {SEQUENCES}; tokens = 1T; precision = fp8 }}
goal {{ maximize mfu }}
target megatron {{ fp8_recipe = blockwise }}
"""
#: 3.2, 4.2: 16 stages, experts over 64 ranks of 8 nodes, ZeRO 1, no tensor parallelism; norms, up-projections
#: and activation functions are computed again.
FINE = VALUES["recompute"]["fine"]
LAYOUT = {"tp": 1, "pp": 16, "vpp": 1, "ep": 64, "zero": 1, "micro_batch": 1, "recompute": FINE}
(THEIRS,) = (dict(stack.traits) for stack in STACKS if stack.framework == "hai-llm")


def priced(traits: dict[str, Any], text: str = JOB, **changes: int) -> Estimate:
    options = {name: backend.target.options for name, backend in BACKENDS.items()}
    megatron: Target = BACKENDS["megatron"].target
    target = replace(megatron, traits=megatron.traits.replaced(**traits))
    return compiler.estimate(loads(text, "job.par", (), options), target, LAYOUT | changes)


def hours(traits: dict[str, Any], text: str = JOB) -> float:
    """GPU hours for 10^12 tokens."""
    seconds = priced(traits, text).step_seconds
    return seconds * GPUS / 3600 * 1e12 / (SEQUENCES * SEQUENCE)


def test_the_papers_gpu_hours_are_priced_within_15_per_cent() -> None:
    assert hours(THEIRS) == pytest.approx(HOURS_PER_TRILLION, rel=0.15)


def test_their_layout_fits_by_what_they_compute_again() -> None:
    """By nothing else: none does not fit, and whole layers take longer."""
    theirs, none, full = (priced(THEIRS, recompute=level) for level in (FINE, 0, 2))
    assert theirs.memory_bytes < theirs.ceiling_bytes < none.memory_bytes
    assert theirs.step_seconds < 0.8 * full.step_seconds


@pytest.mark.parametrize("fact", sorted(THEIRS))
def test_without_any_fact_of_its_stack_it_takes_longer(fact: str) -> None:
    assert hours({name: each for name, each in THEIRS.items() if name != fact}) > 1.02 * hours(
        THEIRS
    )


def test_its_router_keeps_tokens_off_half_of_the_nodes() -> None:
    anywhere = "model m from std.deepseek_v3 { router_groups = 1; router_limited_groups = 1 }"
    free = JOB.replace("model m from std.deepseek_v3 {}", anywhere)
    assert free != JOB
    assert hours(THEIRS, free) > 1.05 * hours(THEIRS)
