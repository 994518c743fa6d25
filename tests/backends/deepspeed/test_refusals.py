"""DeepSpeed: what it refuses, layout by layout and job by job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.backends.deepspeed import BACKEND
from parc.backends.deepspeed.options import Options
from parc.backends.deepspeed.target import TARGET
from parc.compiler.case import Case
from parc.compiler.plan import Layout
from parc.compiler.target import holds
from parc.compiler.time.layers import copied_bytes
from parc.compiler.time.parallel_traffic import reduce_seconds
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Job, Launch, Train
from parc.dsl.model import Model
from tests.support.refusal_lines import assert_lines_clear
from tests.support.sample_plans import (
    DEEPSEEK_V3,
    GPT_125M,
    H100,
    LLAMA3_8B,
    MIXTRAL_8X7B,
    TPU_V5P,
    V100,
    sample_job,
    sample_plan,
    train_of,
)

HF = Options(model="hf")


def test_registered() -> None:
    assert BACKENDS["deepspeed"] is BACKEND


#: A rule, columns that it lets pass, and columns that it refuses.
RULES = (
    ("heads-tp", {"tp": 8}, {"tp": 3}),
    ("kv-heads-tp", {"tp": 8}, {"tp": 16}),
    ("ffn-tp", {"tp": 8}, {"tp": 3}),
    ("autotp-offload", {"tp": 1, "offload": 1, "hpz": 8}, {"tp": 2, "offload": 1, "hpz": 1}),
    ("autotp-offload", {"tp": 2, "offload": 0, "hpz": 1}, {"tp": 2, "offload": 0, "hpz": 8}),
    ("zero-pp", {"pp": 4, "zero": 1}, {"pp": 4, "zero": 2}),
    ("zero-pp", {"pp": 1, "zero": 3}, {"pp": 2, "zero": 3}),
    ("offload-stage", {"zero": 1, "offload": 1}, {"zero": 0, "offload": 1}),
    ("offload-stage", {"zero": 3, "offload": 2}, {"zero": 2, "offload": 2}),
    (
        "zero-group",
        {"zero": 0, "dp_replicate": 8, "dp_shard": 1},
        {"zero": 0, "dp_replicate": 4, "dp_shard": 2},
    ),
    (
        "zero-group",
        {"zero": 3, "dp_replicate": 1, "dp_shard": 8},
        {"zero": 3, "dp_replicate": 2, "dp_shard": 4},
    ),
    (
        "hpz",
        {"zero": 3, "hpz": 8, "gpus": 16, "offload": 0},
        {"zero": 2, "hpz": 8, "gpus": 16, "offload": 0},
    ),
    (
        "hpz",
        {"zero": 3, "hpz": 1, "gpus": 8, "offload": 2},
        {"zero": 3, "hpz": 8, "gpus": 8, "offload": 0},
    ),
    (
        "hpz",
        {"zero": 3, "hpz": 8, "gpus": 64, "offload": 1},
        {"zero": 3, "hpz": 8, "gpus": 20, "offload": 1},
    ),
    (
        "hpz",
        {"zero": 3, "hpz": 1, "gpus": 16, "offload": 2},
        {"zero": 3, "hpz": 8, "gpus": 16, "offload": 2},
    ),
    ("ulysses", {"cp": 16}, {"cp": 3}),
    ("ulysses-pp", {"pp": 1, "cp": 8}, {"pp": 2, "cp": 2}),
    (
        "ulysses-zero",
        {"zero": 2, "cp": 2, "offload": 0},
        {"zero": 1, "cp": 2, "offload": 0},
    ),
    (
        "ulysses-zero",
        {"zero": 1, "cp": 2, "offload": 1},
        {"zero": 1, "cp": 8, "offload": 0},
    ),
    ("accumulate", {"zero": 0, "microbatches": 1}, {"zero": 0, "microbatches": 2}),
)
#: The same for jobs whose batch grows from 32 sequences.
RAMP_RULES = (
    (
        "ramp",
        {"micro_batch": 4, "dp_replicate": 1, "dp_shard": 8},
        {"micro_batch": 8, "dp_replicate": 1, "dp_shard": 8},
    ),
    ("ramp-offload", {"offload": 0}, {"offload": 1}),
)


@pytest.mark.parametrize("name, passing, failing", RULES)
def test_rules(name: str, passing: dict[str, int], failing: dict[str, int]) -> None:
    rule = next(rule for rule in TARGET.predicates if rule.name == name)
    job = sample_job("deepspeed")
    both = {key: np.array([passing[key], failing[key]]) for key in rule.of}
    assert list(np.broadcast_to(holds(rule, job, both), 2)) == [True, False]
    message = rule.message(job, **failing)
    assert all(str(failing[key]) in message for key in rule.of if key != "offload")
    assert len(rule.of) <= 4 and rule.source


@pytest.mark.parametrize("name, passing, failing", RAMP_RULES)
def test_rules_of_a_growing_batch(
    name: str, passing: dict[str, int], failing: dict[str, int]
) -> None:
    rule = next(rule for rule in TARGET.predicates if rule.name == name)
    job = sample_job("deepspeed", train=train_of(ramp_from=32, ramp_tokens=10**6))
    assert holds(rule, job, passing) and not holds(rule, job, failing)
    assert "ramp_from 32" in rule.message(job, **failing)
    assert np.all(holds(rule, sample_job("deepspeed"), failing))


#: The same for frozen weights in 4 bits.
PACKED_RULES = (("four-bits-stage", {"zero": 2}, {"zero": 3}),)


@pytest.mark.parametrize("name, passing, failing", PACKED_RULES)
def test_rules_of_weights_in_four_bits(
    name: str, passing: dict[str, int], failing: dict[str, int]
) -> None:
    rule = next(rule for rule in TARGET.predicates if rule.name == name)
    job = sample_job("deepspeed", HF, train=train_of(weights="here", tune="qlora"))
    assert holds(rule, job, passing) and not holds(rule, job, failing)
    assert "tune = qlora" in rule.message(job, **failing)
    assert np.all(holds(rule, sample_job("deepspeed"), failing))


@pytest.mark.parametrize(
    ("name", "key", "without", "first"),
    [("autotp-release", "tp", "0.15", "0.16"), ("ulysses-release", "cp", "0.16", "0.17")],
)
def test_degrees_that_a_release_lacks(
    name: str, key: str, without: Literal["0.15", "0.16"], first: Literal["0.16", "0.17"]
) -> None:
    rule = next(rule for rule in TARGET.predicates if rule.name == name)
    degrees = {key: np.array([1, 2])}
    older = sample_job("deepspeed", Options(version=without))
    assert np.asarray(holds(rule, older, degrees)).tolist() == [True, False]
    assert f"{first} is the first" in rule.message(older, **{key: 2})
    assert np.all(holds(rule, sample_job("deepspeed", Options(version=first)), degrees))


def test_every_rule_has_a_case() -> None:
    apart = {"autotp-tied", "scaled-gradients", "extra-stage"}
    apart |= {"autotp-release", "ulysses-release"}
    tried = {name for name, _, _ in (*RULES, *RAMP_RULES, *PACKED_RULES)} | apart
    assert {rule.name for rule in TARGET.predicates} == tried


@pytest.mark.parametrize(
    ("version", "extra", "passing"),
    [
        ("0.19", {}, [True] * 4),
        ("0.19", {"zero_optimization.compute_grad_norm": True}, [True] * 4),
        ("0.19", {"zero_optimization.compute_grad_norm": False}, [False, True, True, False]),
        ("0.19", {"zero_optimization.offload_optimizer.ratio": 0.5}, [False, False, False, True]),
        ("0.19", {"zero_optimization.offload_optimizer.ratio": 1.0}, [True] * 4),
        ("0.19", {"gradient_allreduce_op": "sum"}, [True, True, True, False]),
        ("0.18", {"gradient_allreduce_op": "sum"}, [True] * 4),
    ],
)
def test_rows_on_keys_of_extra_leave_stages(
    version: Any, extra: dict[str, Any], passing: list[bool]
) -> None:
    rule = next(rule for rule in TARGET.predicates if rule.name == "extra-stage")
    job = sample_job("deepspeed", Options(version=version, extra=extra))
    assert list(np.broadcast_to(holds(rule, job, {"zero": np.arange(4)}), 4)) == passing
    assert "zero 3" in rule.message(job, zero=3)


@pytest.mark.parametrize(
    ("extra", "passing"),
    [
        ({}, [True] * 4),
        ({"prescale_gradients": True}, [True, True, False, False]),
        ({"gradient_predivide_factor": 2.0}, [True, True, False, False]),
        ({"gradient_predivide_factor": 1.0}, [True] * 4),
        ({"prescale_gradients": True, "zero_optimization.reduce_scatter": False}, [True] * 4),
    ],
)
def test_gradients_that_are_scattered_are_not_scaled(
    extra: dict[str, Any], passing: list[bool]
) -> None:
    rule = next(rule for rule in TARGET.predicates if rule.name == "scaled-gradients")
    job = sample_job("deepspeed", Options(extra=extra))
    assert list(np.broadcast_to(holds(rule, job, {"zero": np.arange(4)}), 4)) == passing
    assert "zero 3" in rule.message(job, zero=3)


def test_autotp_keeps_embeddings_apart() -> None:
    rule = next(rule for rule in TARGET.predicates if rule.name == "autotp-tied")
    for tied in (False, True):
        job = sample_job("deepspeed", model=LLAMA3_8B.model_copy(update={"tied": tied}))
        assert list(np.asarray(holds(rule, job, {"tp": np.array([1, 2])}))) == [True, not tied]
    assert "tp 2" in rule.message(job, tp=2)


def test_ulysses_wants_key_value_heads_that_go_round() -> None:
    rule = next(rule for rule in TARGET.predicates if rule.name == "ulysses")
    job = sample_job("deepspeed", model=LLAMA3_8B.model_copy(update={"heads": 48, "kv_heads": 6}))
    whole = holds(rule, job, {"cp": np.array([1, 2, 3, 4, 6, 8, 12])})
    assert list(np.asarray(whole)) == [
        True, True, True, False, True, False, True,
    ]  # fmt: skip


def test_sums_in_16_bits_when_asked() -> None:
    rule = next(rule for rule in TARGET.predicates if rule.name == "accumulate")
    job = sample_job("deepspeed", Options(accumulate="compute"))
    assert holds(rule, job, {"zero": 0, "microbatches": 8})
    assert TARGET.traits.memory.state(job, 1).gradients == 2.0
    assert TARGET.traits.memory.state(sample_job("deepspeed"), 1).gradients == 4.0


def test_fp32_sums_travel_in_16_bits_as_one_tensor() -> None:
    """BF16_Optimizer at stage 1, not ZeRO 2; and not for fp16, whose stage 1 is ZeRO's own."""
    train = Train(seq_len=4096, global_batch=128, tokens=10**12, precision="fp16")
    half = sample_job("deepspeed", train=train)
    steps = [
        TARGET.traits.memory.state(sample_job("deepspeed"), zero).step_whole for zero in range(4)
    ]
    assert steps == [0.0, 2.0, 0.0, 0.0] and TARGET.traits.memory.state(half, 1).step_whole == 0.0


def copied(job: Job) -> list[float]:
    """Bytes by ZeRO stage."""
    return [copied_bytes(Case(job, TARGET), stage) for stage in range(4)]


def test_gradients_and_weights_are_copied_around() -> None:
    """Bytes per parameter and micro-batch: 16-bit sums 6, fp32 ones of 16-bit gradients 18, buckets 12, and
    the weights of two gathers 8."""
    assert copied(sample_job("deepspeed")) == [6.0, 18.0, 12.0, 20.0]
    half = sample_job("deepspeed", Options(accumulate="compute"))
    assert copied(half) == [6.0, 6.0, 12.0, 20.0]


def test_gradients_are_all_reduced_but_at_stage_3() -> None:
    ring = H100.model_copy(update={"switch_sums": 0.0})
    case = Case(sample_job("deepspeed", gpu=ring), TARGET)
    stages = np.arange(4)
    traits = TARGET.traits.replaced(all_reduces=lambda zero: False)
    divided = Case(case.job, replace(TARGET, traits=traits))
    whole, parts = (np.asarray(reduce_seconds(each, stages, 8, 1, 1)) for each in (case, divided))
    assert whole[[0, 3]].tolist() == parts[[0, 3]].tolist()
    assert whole[1:3] / parts[1:3] == pytest.approx([2.0, 2.0], rel=0.1)


def test_domains_hold_what_the_rules_speak_of() -> None:
    domains = TARGET.domains(sample_job("deepspeed", nodes=(1, 2)))
    assert domains["zero"] == (0, 1, 2, 3) and domains["hpz"] == (1, 2, 4, 8, 16)
    assert domains["pp"] == (1, 2, 4, 8, 16) and domains["cp"] == (1, 2, 4, 8, 16)
    assert set(domains) <= set(Layout.model_fields)


def refused(**given: Any) -> list[str]:
    return [found.code for found in TARGET.refuses(sample_job("deepspeed", **given))]


def test_refusals() -> None:
    assert refused() == []
    assert refused(model=MIXTRAL_8X7B) == ["PAR420"]
    assert refused(model=DEEPSEEK_V3) == ["PAR356", "PAR420", "PAR421"]
    assert refused(train=train_of(precision="fp8")) == ["PAR359"]
    assert refused(train=train_of(optimizer="muon")) == ["PAR321"]
    assert refused(gpu=TPU_V5P) == ["PAR320"]
    assert refused(gpu=V100, train=train_of(precision="fp16")) == []
    assert refused(options=Options(extra={"grad_clip": 1.0})) == ["PAR407"]
    assert refused(options=Options(extra={"zero_optimization.stage": 2})) == ["PAR330"]
    assert refused(options=Options(extra={"optimizer.params.eps": 1e-6})) == ["PAR330"]
    assert refused(options=Options(extra={"wall_clock_breakdown": True})) == []


def model_of(**changes: Any) -> Model:
    return LLAMA3_8B.model_copy(update=changes)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"train": train_of(async_checkpoints=True)}, "PAR434"),
        ({"train": train_of(weights="here"), "model": GPT_125M}, "PAR435"),
        ({"train": train_of(weights="here"), "model": model_of(parallel_block=True)}, "PAR435"),
        ({"model": model_of(attention_softcap=50.0)}, "PAR436"),
        ({"model": model_of(attention_sinks=True), "options": HF}, "PAR370"),
        ({"model": model_of(logit_softcap=30.0), "options": HF}, "PAR370"),
        ({"options": Options(profile_start=90, profile_stop=110)}, "PAR383"),
        ({"launch": Launch(env={"9A": 1})}, "PAR381"),
    ],
)
def test_what_a_job_may_ask_is_refused_by_name(given: dict[str, Any], code: str) -> None:
    job = sample_job("deepspeed", **{"train": train_of(), **given})
    (found,) = TARGET.refuses(job)
    assert found.code == code and found.help
    assert_lines_clear(TARGET, job)


def test_scores_that_lie_in_memory_are_capped() -> None:
    train = train_of(attention="unfused")
    assert refused(model=model_of(attention_softcap=50.0), train=train) == []


@pytest.mark.parametrize("options", (None, HF))
def test_router_features_are_of_experts_which_are_refused(options: Options | None) -> None:
    model = MIXTRAL_8X7B.model_copy(update={"router_scale": 2.0, "aux_loss": 0.1, "z_loss": 0.1})
    assert refused(model=model, options=options) == ["PAR420"]


def test_emit_refuses_what_cannot_be_said() -> None:
    for layout, code in (
        (Layout(tp=2, dp_shard=4, zero=1), "PAR152"),
        (Layout(pp=2, dp_shard=4, zero=2), "PAR401"),
        (Layout(dp_shard=8, zero=1, recompute=2, recompute_layers=3), "PAR152"),
    ):
        with pytest.raises(JobError) as raised:
            BACKEND.emit(sample_plan("deepspeed", layout=layout))
        assert code in [found.code for found in raised.value.diagnostics]
    with pytest.raises(JobError):
        BACKEND.emit(sample_plan("deepspeed", model=MIXTRAL_8X7B))
