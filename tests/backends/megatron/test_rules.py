"""Megatron-LM's rules, domains and refusals."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.backends.megatron.target import domains
from parc.compiler.target import Predicate, holds, warnings
from parc.compiler.variables import NEUTRAL
from parc.dsl import std_model
from parc.dsl.diagnostics import JobError
from parc.dsl.hardware import Gpu
from parc.dsl.job import Job
from parc.dsl.model import Model
from tests.support import sample_plans
from tests.support.megatron_plans import DENSE, MOE, PLANS, with_model
from tests.support.refusal_lines import assert_lines_clear
from tests.support.sample_plans import train_of

IntArray = npt.NDArray[np.int64]
PREDICATES = {predicate.name: predicate for predicate in BACKEND.target.predicates}


def job_of(model: Model = DENSE, options: Options | None = None, **train: object) -> Job:
    settings, chosen = train_of(**train), options or Options()
    return sample_plans.sample_job("megatron", chosen, model=model, train=settings, nodes=(8,))


#: Rule -> job, columns of a layout that it lets through and of one that it refuses.
RULES = {
    "heads-tp": (job_of(), {"tp": 8}, {"tp": 3}),
    "kv-heads-tp": (job_of(with_model(DENSE, heads=36, kv_heads=12)), {"tp": 12}, {"tp": 9}),
    "ffn-tp": (job_of(with_model(DENSE, ffn=14_340)), {"tp": 4}, {"tp": 8}),
    "fp8-shapes": (job_of(with_model(DENSE, ffn=14_352), precision="fp8"), {"tp": 1}, {"tp": 2}),
    "experts-ep": (job_of(MOE), {"ep": 4}, {"ep": 3}),
    "expert-ffn-etp": (job_of(with_model(MOE, expert_ffn=1028)), {"etp": 4}, {"etp": 8}),
    "etp-one-or-tp": (job_of(MOE), {"tp": 4, "etp": 4}, {"tp": 4, "etp": 2}),
    "expert-bias-etp": (job_of(with_model(MOE, bias=True)), {"etp": 1}, {"etp": 2}),
    "expert-world": (
        job_of(MOE),
        {"pp": 2, "ep": 8, "etp": 4, "gpus": 64},
        {"pp": 4, "ep": 8, "etp": 4, "gpus": 64},
    ),
    "moments-zero": (job_of(options=Options(moment_dtype="bf16")), {"zero": 1}, {"zero": 3}),
    "offload-zero": (job_of(), {"zero": 1, "offload": 1}, {"zero": 3, "offload": 1}),
    "offload-fp8": (
        job_of(options=Options(fp8_recipe="tensorwise"), precision="fp8"),
        {"offload": 0},
        {"offload": 1},
    ),
    "seq-split": (job_of(seq_len=4104), {"tp": 4, "cp": 2}, {"tp": 8, "cp": 2}),
    "window-cp": (
        job_of(with_model(DENSE, window=64), Options(cp_comm="p2p")),
        {"cp": 1},
        {"cp": 2},
    ),
    "context-heads": (
        job_of(options=Options(cp_comm="a2a")),
        {"tp": 2, "cp": 4},
        {"tp": 4, "cp": 4},
    ),
    "unfused-cp": (job_of(attention="unfused"), {"cp": 1}, {"cp": 2}),
    "vpp-microbatches": (
        job_of(),
        {"pp": 4, "vpp": 2, "microbatches": 8},
        {"pp": 4, "vpp": 2, "microbatches": 6},
    ),
    "ramp-batch": (
        job_of(ramp_from=32, ramp_tokens=10**9),
        {"microbatches": 8},
        {"microbatches": 6},
    ),
    "recompute-layers": (
        job_of(),
        {"pp": 2, "vpp": 2, "recompute": 2, "recompute_layers": 7},
        {"pp": 2, "vpp": 2, "recompute": 2, "recompute_layers": 8},
    ),
    "zero-shard": (job_of(), {"zero": 1, "dp_shard": 8}, {"zero": 0, "dp_shard": 8}),
    "zero-replicate": (job_of(), {"zero": 0, "dp_replicate": 8}, {"zero": 1, "dp_replicate": 8}),
    "fsdp-pp": (job_of(), {"zero": 3, "pp": 1}, {"zero": 2, "pp": 2}),
    "fsdp-tp-cp": (job_of(), {"zero": 1, "tp": 8, "cp": 2}, {"zero": 3, "tp": 2, "cp": 4}),
    "tp-overlap": (
        job_of(options=Options(tp_overlap=True), seq_len=4100),
        {"tp": 4},
        {"tp": 8},
    ),
    "experts-whole-sequences": (
        job_of(MOE, options=Options(sequence_parallel=False)),
        {"tp": 1},
        {"tp": 2},
    ),
    "fsdp-overlap": (job_of(options=Options(dp_overlap=False)), {"zero": 1}, {"zero": 2}),
    "ep-overlap-stages": (
        job_of(MOE, options=Options(ep_overlap=True)),
        {"ep": 4, "pp": 2, "vpp": 2},
        {"ep": 4, "pp": 2, "vpp": 1},
    ),
    "ep-overlap-recompute": (
        job_of(MOE, options=Options(ep_overlap=True)),
        {"ep": 2, "recompute": 1},
        {"ep": 2, "recompute": 2},
    ),
    "ep-overlap-moe": (
        job_of(MOE, options=Options(ep_overlap=True)),
        {"ep": 2, "recompute": 3},
        {"ep": 2, "recompute": 4},
    ),
    "ep-overlap-batches": (
        job_of(MOE, options=Options(ep_overlap=True)),
        {"ep": 2, "microbatches": 2, "zero": 1},
        {"ep": 2, "microbatches": 4, "zero": 3},
    ),
    "graph-dropout": (
        job_of(options=Options(cuda_graph=True), dropout=0.1),
        {"recompute": 2},
        {"recompute": 1},
    ),
    "interleaving-overlap": (
        job_of(options=Options(extra={"no_overlap_p2p_communication": True})),
        {"pp": 4, "vpp": 2},
        {"pp": 2, "vpp": 2},
    ),
    "fine-nothing": (
        job_of(MOE, options=Options(fp8_recipe="delayed"), precision="fp8"),
        {"recompute": 0},
        {"recompute": 3},
    ),
    "fine-fp4": (
        job_of(MOE, options=Options(version="0.15"), precision="nvfp4"),
        {"recompute": 2},
        {"recompute": 3},
    ),
    "elastic-form": (
        job_of(elastic=True),
        {"zero": 1, "tp": 2, "ep": 1, "etp": 2},
        {"zero": 2, "tp": 1, "ep": 1, "etp": 1},
    ),
    "fsdp-weights": (job_of(weights="/models/llama"), {"zero": 1}, {"zero": 3}),
    "fsdp-async": (
        job_of(options=Options(version="0.16"), async_checkpoints=True),
        {"zero": 1},
        {"zero": 2},
    ),
    "kv-heads-copied": (job_of(options=Options(version="0.15")), {"tp": 8}, {"tp": 16}),
    "optimizer-zero": (job_of(optimizer="sgd"), {"zero": 0}, {"zero": 1}),
}


def test_every_rule_has_a_case() -> None:
    assert set(RULES) == set(PREDICATES)
    assert len(PREDICATES) == len(BACKEND.target.predicates)


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    job, passing, failing = RULES[name]
    predicate = PREDICATES[name]
    assert bool(holds(predicate, job, passing))
    assert not bool(holds(predicate, job, failing))
    message = predicate.message(job, **failing)
    numbers = [str(value) for key, value in failing.items() if key not in ("recompute", "dp_shard")]
    assert all(number in message for number in numbers if number != "1"), message
    assert message[0].islower() and not message.endswith(".")
    assert predicate.code.startswith("PAR") and predicate.source


def test_copied_kv_heads_leave_even_shares_of_one_product() -> None:
    """96 heads of 128 with 4 of keys and values are 13,312 wide with those, which 48 ranks do not share."""
    job = job_of(with_model(DENSE, hidden=12288, heads=96, kv_heads=4))
    rule = PREDICATES["kv-heads-tp"]
    assert [bool(holds(rule, job, {"tp": tp})) for tp in (4, 8, 16, 32, 48)] == [True] * 4 + [False]
    assert "13312 wide, not a multiple of tp 48" in rule.message(job, tp=48)


def test_interleaving_is_fed_by_the_smallest_batch() -> None:
    """128 sequences in 8 micro-batches from a quarter of them on: 2 micro-batches in the first steps."""
    job = job_of(ramp_from=32, ramp_tokens=10**9)
    rule, columns = PREDICATES["vpp-microbatches"], {"vpp": 2, "microbatches": 8}
    assert bool(holds(rule, job, {**columns, "pp": 2}))
    assert not bool(holds(rule, job, {**columns, "pp": 4}))
    assert bool(holds(rule, job_of(), {**columns, "pp": 4}))


def test_an_elastic_job_saves_in_one_form_on_one_gpu_too() -> None:
    rule, one = PREDICATES["elastic-form"], {"tp": 1, "ep": 1, "etp": 1}
    adam, whole = job_of(elastic=True), job_of(elastic=True, optimizer="sgd")
    assert [bool(holds(rule, adam, one | {"zero": zero})) for zero in (0, 1, 3)] == [
        False,
        True,
        False,
    ]
    assert "under other names" in rule.message(adam, zero=0, **one)
    assert bool(holds(rule, whole, one | {"zero": 0})) and bool(
        holds(rule, job_of(), one | {"zero": 0})
    )


def test_experts_of_an_elastic_job_have_an_optimizer_of_their_own() -> None:
    rule, zero = PREDICATES["elastic-form"], {"zero": 1}
    degrees = [(1, 1, 1), (2, 1, 2), (2, 1, 1), (1, 2, 1)]
    layouts = [zero | {"tp": tp, "ep": ep, "etp": etp} for tp, ep, etp in degrees]
    for options, found in (
        (Options(version="0.19"), [0, 0, 1, 1]),
        (Options(version="0.18"), [0, 0, 0, 1]),
    ):
        elastic = job_of(MOE, options=options, elastic=True)
        assert [int(bool(holds(rule, elastic, each))) for each in layouts] == found
    assert "with ep 1 experts share" in rule.message(elastic, **layouts[0])
    assert all(bool(holds(rule, job_of(MOE), each)) for each in layouts)


@pytest.mark.parametrize("name", RULES)
def test_rule_is_vectorised(name: str) -> None:
    """Arrays give what one layout at a time gives."""
    predicate, job = PREDICATES[name], RULES[name][0]
    columns = random_columns(predicate, random.Random(7))
    together = holds(predicate, job, columns)
    alone = [bool(holds(predicate, job, row)) for row in transposed(columns)]
    assert np.asarray(together).tolist() == alone


def random_columns(predicate: Predicate, source: random.Random) -> dict[str, IntArray]:
    choices: Mapping[str, Sequence[int]] = {
        "zero": range(4),
        "recompute": range(4),
        "gpus": (8, 64, 96),
    }
    return {
        name: np.array([source.choice(choices.get(name, (1, 2, 3, 4, 8, 12))) for _ in range(60)])
        for name in predicate.of
    }


def transposed(columns: Mapping[str, IntArray]) -> list[dict[str, int]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_sequence_parts_serve_both_tensor_and_context_ranks() -> None:
    """Sequence parallelism wants equal parts for tp * cp ranks, balanced context ranks two parts each. Dense
    models do without it where tp does not divide the sequence, those with experts never."""
    for length, model in product((1, 24, 60, 1023, 4096, 4104), (DENSE, MOE)):
        job = job_of(model, seq_len=length)
        for tp in (1, 2, 3, 8):
            for cp in (1, 2, 3, 4):
                parallel = tp > 1 and (model.moe or length % tp == 0)
                wanted = [tp * cp] * parallel + [2 * cp] * (cp > 1)
                allowed = all(length % parts == 0 for parts in wanted)
                assert bool(holds(PREDICATES["seq-split"], job, {"tp": tp, "cp": cp})) == allowed


def test_predicates_know_the_variables_and_stay_small() -> None:
    known = {*NEUTRAL, "dp", "microbatches", "gpus", "nodes"}
    for predicate in BACKEND.target.predicates:
        assert set(predicate.of) <= known and len(predicate.of) <= 4


def test_domains_of_a_dense_job() -> None:
    found = domains(job_of())
    assert found["tp"] == (1, 2, 4, 8, 16, 32)
    assert found["pp"] == (1, 2, 4, 8, 16, 32)
    assert found["cp"] == (1, 2, 4, 8, 16, 32, 64)
    assert found["ep"] == found["etp"] == (1,)
    assert found["zero"] == (0, 1, 2, 3)
    assert 64 in found["dp_shard"] and all(128 % dp == 0 for dp in found["dp_shard"])
    assert set(found) == set(NEUTRAL) - {"hpz", "order"}


def test_domains_of_other_jobs() -> None:
    deepseek = domains(job_of(sample_plans.DEEPSEEK_V3))
    assert deepseek["ep"] == (1, 2, 4, 8, 16, 32, 64) and deepseek["etp"] == deepseek["tp"]
    assert domains(job_of(optimizer="muon"))["zero"] == (0,)
    assert domains(job_of(optimizer="sgd"))["zero"] == (0,)
    assert max(domains(job_of(seq_len=131_072))["cp"]) == 64
    single = job_of().model_copy(
        update={"cluster": sample_plans.sample_job("x", gpus_per_node=1).cluster}
    )
    assert domains(single)["vpp"] == (1,) and domains(single)["tp"] == (1,)


@pytest.mark.parametrize(
    ("model", "train", "gpu", "code"),
    [
        (DENSE, {}, sample_plans.TPU_V5P, "PAR320"),
        (DENSE, {"optimizer": "adam8bit"}, sample_plans.H100, "PAR321"),
        (with_model(DENSE, activation="gelu"), {}, sample_plans.H100, "PAR322"),
        (with_model(DENSE, causal=False), {}, sample_plans.H100, "PAR323"),
        (with_model(DENSE, rope_theta=1e4 + 0.5), {}, sample_plans.H100, "PAR324"),
        (DENSE, {"precision": "fp16"}, sample_plans.V100, "PAR325"),
        (with_model(DENSE, parallel_block=True), {}, sample_plans.H100, "PAR370"),
        (with_model(DENSE, attention_softcap=50.0), {}, sample_plans.H100, "PAR370"),
        (with_model(DENSE, logit_softcap=30.0), {}, sample_plans.H100, "PAR370"),
        (with_model(DENSE, init_scaled=False), {}, sample_plans.H100, "PAR370"),
        (std_model("llama3_2_1b"), {}, sample_plans.H100, "PAR377"),
        (std_model("kimi_k2"), {}, sample_plans.H100, "PAR377"),
        (
            with_model(DENSE, rope_scaling="linear", rope_factor=2.5),
            {},
            sample_plans.H100,
            "PAR377",
        ),
        (
            with_model(sample_plans.DEEPSEEK_V3, rope_scaling="linear", rope_factor=2.0),
            {},
            sample_plans.H100,
            "PAR377",
        ),
        (std_model("deepseek_v2_lite"), {}, sample_plans.H100, "PAR380"),
        (sample_plans.GPT_125M, {"weights": "openai/gpt2"}, sample_plans.H100, "PAR319"),
        (with_model(MOE, topk=1), {}, sample_plans.H100, "PAR378"),
        (with_model(MOE, router_bias_rate=0.001), {}, sample_plans.H100, "PAR378"),
        (
            with_model(MOE, router_score="sigmoid", router_norm=False),
            {},
            sample_plans.H100,
            "PAR378",
        ),
        (
            with_model(MOE, router_groups=4, router_limited_groups=4),
            {},
            sample_plans.H100,
            "PAR378",
        ),
        (DENSE, {"precision": "mxfp8"}, sample_plans.H100, "PAR327"),
        (DENSE, {"precision": "nvfp4"}, sample_plans.H100, "PAR387"),
        (DENSE, {"precision": "nvfp4"}, sample_plans.MI300X, "PAR387"),
        (with_model(MOE, bias=True, shared_experts=1), {}, sample_plans.H100, "PAR328"),
        (with_model(sample_plans.GPT_125M, mtp_layers=1), {}, sample_plans.H100, "PAR329"),
        (with_model(std_model("gpt_oss_20b"), mtp_layers=1), {}, sample_plans.H100, "PAR329"),
        (DENSE, {"keep_checkpoints": 2}, sample_plans.H100, "PAR382"),
    ],
)
def test_refusals(model: Model, train: dict[str, object], gpu: Gpu, code: str) -> None:
    settings = train_of(**train)
    plan = sample_plans.sample_plan("megatron", Options(), model=model, train=settings, gpu=gpu)
    assert [found.code for found in BACKEND.target.refuses(plan.job)] == [code]
    assert_lines_clear(BACKEND.target, plan.job)
    with pytest.raises(JobError, match=code):
        BACKEND.emit(plan)


@pytest.mark.parametrize(
    ("name", "said"), [("deepseek_v2", True), ("deepseek_v3", False), ("mixtral_8x7b", False)]
)
def test_groups_that_are_ranked_in_another_way_are_said(name: str, said: bool) -> None:
    found = [warning.code for warning in warnings(BACKEND.target, job_of(std_model(name)))]
    assert ("PAR379" in found) == said


def test_sinks_take_an_exchange_of_heads() -> None:
    model = with_model(DENSE, attention_sinks=True)
    predicate, heads = PREDICATES["window-cp"], PREDICATES["context-heads"]
    job, around = job_of(model), job_of(model, Options(cp_comm="p2p"))
    assert holds(predicate, job, {"cp": 2}) and not holds(predicate, around, {"cp": 2})
    assert holds(heads, job, {"tp": 1, "cp": 8}) and not holds(heads, job, {"tp": 1, "cp": 16})
    assert predicate.message(around, cp=2).startswith("cp 2: attention_sinks cannot")


@pytest.mark.parametrize("name", PLANS)
def test_plans_of_the_emitter_tests_are_legal(name: str) -> None:
    layout, job = PLANS[name].layout, PLANS[name].job
    columns = {**layout.model_dump(), "dp": layout.dp, "gpus": layout.gpus}
    assert [rule.name for rule in PREDICATES.values() if not holds(rule, job, columns)] == []


def test_nothing_is_refused_without_reason() -> None:
    for plan in PLANS.values():
        assert BACKEND.target.refuses(plan.job) == []
