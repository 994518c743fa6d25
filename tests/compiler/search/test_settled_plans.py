"""Settings that a job leaves open take the values of the best choice, of near-equals the preferred ones."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import product

import pytest

from parc.api import emit, explain_plan, plan_targets
from parc.compiler.plan import Plan
from tests.support.solver_and_sweep import DENSE, MOE, block, read

SEEDS = range(6)
#: What jobs of each target leave open here.
OPEN: dict[str, dict[str, tuple[str, ...]]] = {
    "megatron": {
        "grad_dtype": ("fp32", "bf16"),
        "moment_dtype": ("fp32", "bf16"),
        "dp_overlap": ("true", "false"),
        "sequence_parallel": ("true", "false"),
        "dispatcher": ("alltoall", "deepep", "hybridep"),
    },
    "torchtitan": {"tp_overlap": ("false", "true"), "loss_kernel": ("eager", "fused")},
    "deepspeed": {"grad_dtype": ("fp32", "bf16"), "accumulate": ("fp32", "compute")},
}
COMPILE = ("false", "true")
Settings = Mapping[str, str]


def text_of(target: str, settings: Settings, goal: str, model: Mapping[str, object] = DENSE) -> str:
    own = {name: value for name, value in settings.items() if name != "compile"}
    train: dict[str, object] = {"seq_len": 2048, "global_batch": 64, "steps": 1000}
    train["compile"] = settings.get("compile", "false")
    return (
        block("model small", model)
        + block("cluster pod from std.dgx_h100", {"nodes": 2})
        + block("train", train)
        + f"goal {{ {goal} }}\n"
        + block(f"target {target}", {"data": "synthetic", **own})
    )


def planned(text: str) -> Plan | str:
    """The plan of a job of one target, or the code of what it lacks."""
    found = plan_targets(read(text))
    return found.plans[0] if found.plans else found.complaints[0][1].code


def drawn(seed: int) -> tuple[str, dict[str, tuple[str, ...]], str, Mapping[str, object]]:
    """A target, what is left open of it in a drawn order of preference, a goal and a model."""
    chance = random.Random(seed)
    target = sorted(OPEN)[seed % len(OPEN)]
    known = {**OPEN[target], "compile": COMPILE}
    names = chance.sample(sorted(known), 2)
    opened = {name: tuple(chance.sample(known[name], len(known[name]))) for name in names}
    within = chance.choice(("0", "1%", "5%", "8%"))
    goal = f"{chance.choice(('maximize mfu', 'minimize step_time'))}; within = {within}"
    model = MOE if target == "megatron" and chance.random() < 0.5 else {**DENSE, "hidden": 2048}
    return target, opened, goal, model


@pytest.mark.parametrize("seed", SEEDS)
def test_the_choice_is_that_of_every_combination_written_out(seed: int) -> None:
    target, opened, goal, model = drawn(seed)
    sets = {name: "{" + ", ".join(values) + "}" for name, values in opened.items()}
    found = planned(text_of(target, sets, goal, model))
    by_hand: dict[tuple[int, ...], Plan] = {}
    for places in product(*(range(len(values)) for values in opened.values())):
        said = {name: opened[name][place] for name, place in zip(opened, places, strict=True)}
        alone = planned(text_of(target, said, goal, model))
        if isinstance(alone, Plan):
            by_hand[places] = alone
    assert isinstance(found, Plan) and by_hand
    sign = -1 if goal.startswith("maximize") else 1
    bare = min(sign * plan.proof.value for plan in by_hand.values())
    limit = bare + abs(bare) * found.job.goal.within * (1 + 1e-9)
    worth = {key: sign * _reached(plan, goal) for key, plan in by_hand.items()}
    preferred = sorted(by_hand, key=lambda key: (sum(map(bool, key)), key))
    wanted = by_hand[next(key for key in preferred if worth[key] <= limit)]
    assert (found.estimate, found.options) == (wanted.estimate, wanted.options)
    assert found.job.train.compile == wanted.job.train.compile
    assert sign * found.proof.value == bare
    assert found.proof.layouts == sum(plan.proof.layouts for plan in by_hand.values())
    told = [each.estimate for each in found.other_settings if each.estimate is not None]
    assert {each.step_seconds for each in (found.estimate, *told)} == {
        plan.estimate.step_seconds for plan in by_hand.values()
    }


def _reached(plan: Plan, goal: str) -> float:
    return plan.estimate.mfu if "mfu" in goal else plan.estimate.step_seconds


def test_of_as_many_gpus_a_choice_has_to_be_as_fast() -> None:
    """Compiled layers are faster by more than `within`, and change nothing of how many GPUs memory takes."""
    goal = "minimize gpus; within = 1%"
    text = text_of("torchtitan", {"compile": "{false, true}"}, goal, {**DENSE, "hidden": 2048})
    found = planned(text.replace("nodes = 2", "nodes = 1..2"))
    assert isinstance(found, Plan)
    assert found.job.train.compile is True and found.proof.objective == "minimize gpus"
    (slower,) = (each.estimate for each in found.other_settings if each.estimate)
    assert slower.gpus == found.layout.gpus
    assert slower.step_seconds > 1.01 * found.estimate.step_seconds


def test_a_choice_that_takes_more_nodes_is_not_taken() -> None:
    """Moments in 32 bits are preferred, and need a node more; steps on more nodes are shorter."""
    model = {**DENSE, "layers": 64, "hidden": 6144, "ffn": 24576}
    goal = "minimize nodes; within = 20%; require zero == 1; require offload == none"
    text = text_of("megatron", {"moment_dtype": "{fp32, bf16}"}, goal, model)
    found = planned(text.replace("nodes = 2", "nodes = 1..4"))
    assert isinstance(found, Plan) and found.settings == {"moment_dtype": "bf16"}
    (more,) = (each.estimate for each in found.other_settings if each.estimate)
    assert more.nodes > found.layout.nodes
    assert more.step_seconds < found.estimate.step_seconds


def test_a_choice_that_alone_fits_is_taken() -> None:
    """Moments in 16 bits, where memory is between what the smallest layouts need with either."""
    needs = {
        dtype: plan.estimate.memory_bytes
        for dtype in ("fp32", "bf16")
        if isinstance(plan := planned(_adam(dtype, "minimize memory")), Plan)
    }
    assert needs["bf16"] < needs["fp32"]
    limit = (needs["bf16"] + needs["fp32"]) // 2
    found = planned(_adam("{fp32, bf16}", f"maximize mfu; require memory <= {limit} B"))
    assert isinstance(found, Plan)
    assert found.settings == {"moment_dtype": "bf16"} and found.estimate.memory_bytes <= limit
    (other,) = found.other_settings
    assert other.settings == {"moment_dtype": "fp32"} and other.estimate is None and other.why


def _adam(dtype: str, goal: str) -> str:
    goal = f"{goal}; require zero == 1; require offload == none"
    return text_of("megatron", {"moment_dtype": dtype}, goal)


def test_where_no_choice_has_a_layout_the_preferred_one_says_why() -> None:
    """Flex dispatchers without experts."""
    text = text_of("megatron", {"dispatcher": "{hybridep, deepep}"}, "maximize mfu")
    (complaint,) = (each for _, each in plan_targets(read(text)).complaints)
    assert "hybridep" in complaint.message
    (note,) = complaint.notes
    assert note.message.startswith("with dispatcher deepep: `dispatcher = deepep` with a model")


def test_the_files_have_the_chosen_values_and_explain_tells_of_them_alone() -> None:
    goal = "maximize mfu; within = 0"
    text = text_of("megatron", {"grad_dtype": "{fp32, bf16}", "tp_overlap": "{false, true}"}, goal)
    found = plan_targets(read(text), keep=True)
    (plan,) = found.plans
    _, emitted = emit(found)
    (script,) = (text for path, text in emitted.files.items() if path.endswith("pretrain.sh"))
    assert ("--grad-reduce-in-bf16" in script) == (plan.settings["grad_dtype"] == "bf16")
    known = found.whole.get("megatron")
    assert known is None or known.space.case.job is plan.job
    explained = explain_plan(plan, known)
    assert explained.best.value == pytest.approx(explain_plan(plan).best.value)
