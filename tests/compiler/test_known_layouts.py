"""What is known of good layouts, asked of the plans; docs/cost-model/practice.md says where they differ."""

from __future__ import annotations

import pytest

import parc
from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.plan import Estimate, Plan
from parc.compiler.pricing.estimate import decisions, estimate_layout
from parc.compiler.variables import PLACE
from tests.support.compiled_examples import EXAMPLES, compiled
from tests.support.estimate_against_plan import admissible

#: Llama 3 405B at 8,192 tokens on 16,384 GPUs (arXiv 2407.21783, table 4).
PUBLISHED_MFU = 0.41


def plan_of(example: str, target: str) -> Plan:
    return next(plan for plan in compiled(example).plans if plan.target == target)


@pytest.mark.parametrize("example", EXAMPLES)
def test_tensor_parallelism_stays_on_the_fast_link(example: str) -> None:
    for plan in compiled(example).plans:
        assert plan.layout.tp <= plan.job.cluster.domain


@pytest.mark.parametrize("example", ["llama3_8b", "gpt_125m"])
def test_small_models_on_a_fast_link_need_no_pipeline(example: str) -> None:
    assert plan_of(example, "megatron").layout.pp == 1


def test_a_pipeline_for_a_small_model_gains_little() -> None:
    """DeepSpeed's script keeps more for the backward pass, which stages divide, but so do context ranks."""
    best = plan_of("llama3_8b", "deepspeed").estimate
    flat = parc.estimate(parc.load(EXAMPLES["llama3_8b"]), {"cp": 2, "zero": 2}, "deepspeed")
    assert best.layout.pp > 1 == flat.layout.pp
    assert best.step_seconds <= flat.step_seconds <= 1.04 * best.step_seconds


def test_gpt3_as_the_papers_ran_it_fills_the_node_with_tp() -> None:
    layout = plan_of("gpt3_175b", "megatron").layout
    assert layout.tp == 8
    assert layout.pp > 1


@pytest.mark.parametrize("target", ["megatron", "torchtitan", "deepspeed"])
def test_long_sequences_are_divided(target: str) -> None:
    assert plan_of("llama3_405b_131k", target).layout.cp > 1


def test_llama3_405b_as_meta_ran_it() -> None:
    """Meta recomputed nothing (arXiv 2407.21783, 3.3.2), which parc's memory terms do not fit into 80 GB. Its
    own trainer is slower than Megatron-LM on the same GPUs, by NVIDIA's published runs of the model.
    """
    job = parc.load(EXAMPLES["llama3_405b"])
    plain = parc.load(EXAMPLES["llama3_405b"], ["target.megatron.tp_overlap=false"])
    degrees = {"tp": 8, "pp": 16}
    published = parc.estimate(plain, {**degrees, "vpp": 8, "recompute": 0}, "megatron")
    assert published.layout.dp == 128
    assert PUBLISHED_MFU <= published.mfu <= PUBLISHED_MFU + 0.05
    plan = plan_of("llama3_405b", "megatron")
    assert plan.estimate.step_seconds <= parc.estimate(job, degrees, "megatron").step_seconds


#: Layers of Llama 3 405B's 126 on 16 stages (arXiv 2407.21783, 3.3.2): one less at both ends.
FEWER_AT_THE_ENDS = [7, *[8] * 14, 7]


def layers_of(found: Estimate) -> list[int]:
    return [sum(stage.layers) for stage in found.stages]


def test_llama3_405b_takes_a_layer_from_both_ends() -> None:
    """With a layer in each of eight chunks, as Meta interleaved it."""
    job = parc.load(EXAMPLES["llama3_405b"])
    found = parc.estimate(job, {"tp": 8, "pp": 16, "vpp": 8}, "megatron")
    assert layers_of(found) == FEWER_AT_THE_ENDS


def test_the_published_stages_are_searched_without_interleaving_too() -> None:
    """They are faster, and do not fit; of those that do, the first ranks have fewer layers yet."""
    case = Case(parc.load(EXAMPLES["llama3_405b"]), BACKENDS["megatron"].target)
    best = parc.estimate(case.job, {"tp": 8, "pp": 16, "vpp": 1}, "megatron")
    decided = decisions(case, best)
    searched = [
        estimate_layout(case, decided | {PLACE: place})
        for place in range(case.placements.count(16, 1))
    ]
    (published,) = (each for each in searched if layers_of(each) == FEWER_AT_THE_ENDS)
    assert published.step_seconds < best.step_seconds and not admissible(case, published)
    fitting = [each for each in searched if admissible(case, each)]
    assert best.step_seconds <= 1.001 * min(each.step_seconds for each in fitting)
    assert layers_of(best)[0] < FEWER_AT_THE_ENDS[0]
