"""torchtitan's rules, domains, refusals and bytes per parameter."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

from parc.backends.torchtitan import BACKEND
from parc.backends.torchtitan.options import Options
from parc.compiler import plan
from parc.compiler.target import Predicate, holds
from parc.compiler.variables import NEUTRAL
from parc.dsl import loads, std_model
from parc.dsl.diagnostics import JobError
from parc.dsl.hardware import Gpu
from parc.dsl.job import Job
from parc.dsl.model import Model
from parc.dsl.settings import Data
from tests.support import sample_plans
from tests.support.refusal_lines import assert_lines_clear
from tests.support.sample_plans import LLAMA3_8B, MIXTRAL_8X7B, QWEN3_8B, train_of

Release = Literal["0.2.2", "0.3"]
TARGET = BACKEND.target
PREDICATES = {predicate.name: predicate for predicate in TARGET.predicates}
LATENT = std_model("deepseek_v3").model_copy(update={"mtp_layers": 0, "aux_loss": 0.0})
GPT_OSS = std_model("gpt_oss_20b").model_copy(update={"aux_loss": 0.0})


def changed(model: Model, **fields: object) -> Model:
    return model.model_copy(update=fields)


def job_of(
    model: Model = LLAMA3_8B,
    options: Options | None = None,
    gpu: Gpu = sample_plans.H100,
    **train: object,
) -> Job:
    return sample_plans.sample_job(
        "torchtitan", options, model=model, train=train_of(**train), gpu=gpu, nodes=(8,)
    )


#: Rule -> job, columns of a layout that it lets through and of one that it refuses.
RULES = {
    "heads-tp": (job_of(), {"tp": 8}, {"tp": 3}),
    "kv-heads-tp": (job_of(), {"tp": 8}, {"tp": 16}),
    "ffn-tp": (job_of(changed(LLAMA3_8B, ffn=14_340)), {"tp": 4}, {"tp": 8}),
    "seq-split": (job_of(seq_len=4104), {"tp": 4, "cp": 1}, {"tp": 8, "cp": 1}),
    "experts-ep": (job_of(MIXTRAL_8X7B), {"ep": 4}, {"ep": 3}),
    "expert-world": (
        job_of(LATENT),
        {"tp": 4, "cp": 1, "ep": 8, "dp_shard": 4},
        {"tp": 4, "cp": 1, "ep": 2, "dp_shard": 4},
    ),
    "expert-tp": (
        job_of(MIXTRAL_8X7B, Options(version="0.2.1")),
        {"tp": 2, "ep": 4},
        {"tp": 1, "ep": 4},
    ),
    "etp-one-or-tp": (
        job_of(MIXTRAL_8X7B),
        {"tp": 4, "ep": 1, "etp": 4},
        {"tp": 4, "ep": 4, "etp": 4},
    ),
    "expert-ffn-etp": (job_of(changed(MIXTRAL_8X7B, expert_ffn=1028)), {"etp": 4}, {"etp": 8}),
    "expert-shards": (
        job_of(MIXTRAL_8X7B),
        {"tp": 1, "cp": 1, "ep": 8, "dp_replicate": 1, "dp_shard": 64},
        {"tp": 1, "cp": 1, "ep": 1, "dp_replicate": 1, "dp_shard": 64},
    ),
    "pipeline-model": (job_of(QWEN3_8B), {"pp": 1}, {"pp": 2}),
    "context-model": (job_of(GPT_OSS), {"cp": 1}, {"cp": 2}),
    "context-angles": (job_of(QWEN3_8B, Options(version="0.2.1")), {"cp": 1}, {"cp": 2}),
    "few-microbatches": (
        job_of(),
        {"pp": 4, "vpp": 1, "microbatches": 4, "order": 0},
        {"pp": 4, "vpp": 1, "microbatches": 3, "order": 0},
    ),
    "vpp-microbatches": (
        job_of(),
        {"pp": 4, "vpp": 2, "microbatches": 10, "order": 0},
        {"pp": 4, "vpp": 2, "microbatches": 9, "order": 0},
    ),
    "schedule-stages": (
        job_of(),
        {"pp": 4, "vpp": 2, "microbatches": 4, "order": 2},
        {"pp": 4, "vpp": 2, "microbatches": 3, "order": 2},
    ),
    "listed-passes": (
        job_of(),
        {"pp": 8, "vpp": 2, "microbatches": 2048, "order": 4},
        {"pp": 8, "vpp": 2, "microbatches": 16_384, "order": 4},
    ),
    "schedule-selective": (
        job_of(),
        {"recompute": 2, "order": 2},
        {"recompute": 1, "order": 2},
    ),
    "precision-needs-fsdp": (
        job_of(),
        {"tp": 2, "pp": 1, "cp": 2, "dp_shard": 1},
        {"tp": 2, "pp": 1, "cp": 1, "dp_shard": 1},
    ),
    "zero-fsdp": (
        job_of(),
        {"zero": 1, "pp": 2, "cp": 1, "dp_shard": 8},
        {"zero": 3, "pp": 2, "cp": 1, "dp_shard": 8},
    ),
    "tied-fsdp": (
        job_of(changed(LLAMA3_8B, tied=True)),
        {"cp": 1, "dp_shard": 1},
        {"cp": 1, "dp_shard": 2},
    ),
    "evaluation-cp": (job_of(QWEN3_8B, Options(validation=Data())), {"cp": 1}, {"cp": 2}),
    "selective-experts": (
        job_of(MIXTRAL_8X7B),
        {"ep": 8, "recompute": 2},
        {"ep": 8, "recompute": 1},
    ),
    "tied-pipeline": (
        job_of(changed(LLAMA3_8B, tied=True), Options(version="0.3")),
        {"pp": 1},
        {"pp": 2},
    ),
    "fp8-experts": (job_of(MIXTRAL_8X7B, precision="fp8"), {"pp": 1, "cp": 1}, {"pp": 1, "cp": 2}),
    "mxfp8-compile": (
        job_of(gpu=sample_plans.B200, precision="mxfp8", compile=True),
        {"tp": 1},
        {"tp": 2},
    ),
    "attention-kernel-cp": (
        job_of(options=Options(version="0.3", attention_kernel="varlen")),
        {"cp": 1},
        {"cp": 2},
    ),
    "flex-selective": (
        job_of(options=Options(version="0.2.0", attention_kernel="flex")),
        {"recompute": 2},
        {"recompute": 1},
    ),
    "overlap-domain": (
        job_of(options=Options(tp_overlap=True), compile=True),
        {"tp": 8},
        {"tp": 16},
    ),
    "graph-layout": (
        job_of(options=Options(version="0.3", cuda_graph=True)),
        {"pp": 1, "ep": 1},
        {"pp": 2, "ep": 1},
    ),
}


def test_every_rule_has_its_cases() -> None:
    assert set(RULES) == set(PREDICATES)


@pytest.mark.parametrize("name", RULES)
def test_rule_lets_through_and_refuses(name: str) -> None:
    job, good, bad = RULES[name]
    rule = PREDICATES[name]
    assert set(rule.of) == set(good) == set(bad) and len(rule.of) <= 5
    assert bool(holds(rule, job, good))
    assert not bool(holds(rule, job, bad))
    message = rule.message(job, **bad)
    assert message[0].islower() or message[0].isdigit()
    assert any(str(value) in message for value in bad.values())


def test_0_3_takes_the_loss_in_eight_parts() -> None:
    rule = PREDICATES["seq-split"]
    cases: list[tuple[int, Release, bool]] = [
        (4104, "0.3", True),
        (4100, "0.3", False),
        (4100, "0.2.2", True),
    ]
    for seq_len, version, fits in cases:
        job = job_of(options=Options(version=version), seq_len=seq_len)
        assert bool(holds(rule, job, {"tp": 2, "cp": 1})) == fits


def test_0_3_divides_experts_by_width_where_ranks_outnumber_them() -> None:
    """Also where replicas or tp make them so; 0.2.2 does with ep alone."""
    rule = PREDICATES["expert-shards"]
    twelve = changed(MIXTRAL_8X7B, experts=12)

    def fits(
        version: Release,
        model: Model = MIXTRAL_8X7B,
        tp: int = 1,
        ep: int = 1,
        dp_replicate: int = 1,
        dp_shard: int = 1,
    ) -> bool:
        columns = {"tp": tp, "cp": 1, "ep": ep, "dp_replicate": dp_replicate, "dp_shard": dp_shard}
        return bool(holds(rule, job_of(model, Options(version=version)), columns))

    assert fits("0.3", dp_shard=64) and not fits("0.2.2", dp_shard=64)
    assert fits("0.3", twelve, dp_shard=12) and fits("0.2.2", twelve, dp_shard=12)
    for more in ({"dp_replicate": 2}, {"tp": 2}):
        assert not fits("0.3", twelve, dp_shard=12, **more)
        assert fits("0.2.2", twelve, dp_shard=12, **more)
    assert not fits("0.3", twelve, ep=12, dp_shard=36) and not fits(
        "0.2.2", twelve, ep=12, dp_shard=36
    )


def columns_of(rule: Predicate, job: Job) -> dict[str, npt.NDArray[np.int64]]:
    """All combinations of a rule's variables over the target's own domains."""
    choices = {**{name: (value,) for name, value in NEUTRAL.items()}, **TARGET.domains(job)}
    choices["microbatches"] = (1, 3, 4, 8, 9)
    grid = np.meshgrid(*(choices[name] for name in rule.of), indexing="ij")
    return {name: axis.ravel() for name, axis in zip(rule.of, grid, strict=True)}


@pytest.mark.parametrize(
    "model", [LLAMA3_8B, QWEN3_8B, MIXTRAL_8X7B, LATENT, GPT_OSS], ids=lambda model: model.name
)
@pytest.mark.parametrize("name", RULES)
def test_rule_says_the_same_of_arrays_and_of_single_layouts(name: str, model: Model) -> None:
    rule, job = PREDICATES[name], job_of(model)
    columns = columns_of(rule, job)
    whole = np.broadcast_to(holds(rule, job, columns), columns[rule.of[0]].shape)
    for index in range(0, len(whole), max(1, len(whole) // 50)):
        single = {column: values[index] for column, values in columns.items()}
        assert bool(holds(rule, job, single)) == whole[index]


def test_zero_stage_follows_from_shards_and_pipeline() -> None:
    rule, job = PREDICATES["zero-fsdp"], job_of()
    allowed = {
        (pp, shard): [
            z
            for z in range(4)
            if holds(rule, job, {"zero": z, "pp": pp, "cp": 1, "dp_shard": shard})
        ]
        for pp in (1, 2)
        for shard in (1, 8)
    }
    assert allowed == {(1, 1): [0], (2, 1): [0], (1, 8): [2, 3], (2, 8): [1]}


def test_domains_hold_what_the_model_divides_by() -> None:
    dense = TARGET.domains(job_of())
    assert dense["tp"] == (1, 2, 4, 8) and dense["ep"] == dense["etp"] == (1,)
    assert dense["cp"] == (1, 2, 4, 8, 16, 32, 64) and max(dense["pp"]) == 32 and 4 in dense["vpp"]
    assert TARGET.domains(job_of(QWEN3_8B))["pp"] == TARGET.domains(job_of(QWEN3_8B))["vpp"] == (1,)
    assert TARGET.domains(job_of(MIXTRAL_8X7B))["ep"] == (1, 2, 4, 8)
    assert TARGET.domains(job_of(LATENT))["tp"][-1] == 64


GPT = sample_plans.GPT_125M
REFUSED = {
    "PAR320": job_of(gpu=sample_plans.TPU_V5P),
    "PAR321": job_of(optimizer="muon"),
    "PAR322": job_of(changed(LLAMA3_8B, gated=False)),
    "PAR323": job_of(changed(LLAMA3_8B, causal=False)),
    "PAR327": job_of(precision="mxfp8"),
    "PAR332": job_of(weights="/models/llama", tune="lora"),
    "PAR351": job_of(changed(LLAMA3_8B, norm="layernorm")),
    "PAR352": job_of(changed(LLAMA3_8B, position="learned")),
    "PAR353": job_of(changed(LLAMA3_8B, qkv_bias=True)),
    "PAR355": job_of(changed(LLAMA3_8B, window=4096)),
    "PAR356": job_of(changed(LATENT, mtp_layers=1)),
    "PAR357": job_of(changed(LATENT, tied=True)),
    "PAR394": job_of(ramp_from=64),
    "PAR358": job_of(changed(MIXTRAL_8X7B, dense_layers=1)),
    "PAR359": job_of(precision="fp16"),
    "PAR361": job_of(attention="unfused"),
    "PAR362": job_of(dropout=0.1),
    "PAR456": job_of(changed(LLAMA3_8B, tied=True), Options(version="0.2.1")),
    "PAR363": job_of(changed(LATENT, router_groups=256, router_limited_groups=8)),
    "PAR368": job_of(changed(LATENT, rope_scaling="none"), Options(version="0.3")),
    "PAR369": job_of(options=Options(version="0.3"), precision="fp8"),
    "PAR370": job_of(changed(MIXTRAL_8X7B, aux_loss=0.02)),
    "PAR385": job_of(changed(LATENT, rope_mscale=0.707)),
    "PAR386": job_of(changed(GPT_OSS, full_attention_every=6)),
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_torchtitan_lacks_is_refused_with_a_cure(code: str) -> None:
    found = TARGET.refuses(REFUSED[code])
    assert [diagnostic.code for diagnostic in found] == [code]
    assert found[0].help and not found[0].message[0].isupper()
    assert_lines_clear(TARGET, REFUSED[code])


SCALED = {"rope_scaling": "llama3", "rope_factor": 8.0, "rope_original_positions": 8192}


@pytest.mark.parametrize("version", ["0.2.2", "0.3"])
def test_llama_scaling_is_of_models_that_have_it(version: Release) -> None:
    """Llama 3.2, which is tied, too: 0.2.2's qwen3 takes llama3's angles, 0.3.0's llama3 is tied itself."""
    tied = changed(LLAMA3_8B, tied=True, **SCALED)
    assert TARGET.refuses(job_of(tied, Options(version=version))) == []
    norms = job_of(changed(QWEN3_8B, **SCALED), Options(version=version))
    assert [found.code for found in TARGET.refuses(norms)] == ["PAR370"] * (version == "0.3")


#: YaRN that a model of torchtitan does not do, and groups that its router scores otherwise.
OTHERWISE = {
    "rounded for gpt_oss": (changed(GPT_OSS, rope_truncate=True), "PAR385"),
    "bounds outside a head": (changed(GPT_OSS, rope_original_positions=128), "PAR385"),
    "scores of gpt_oss": (changed(GPT_OSS, rope_mscale_all_dim=1.0), "PAR385"),
    "not rounded": (changed(LATENT, rope_truncate=False), "PAR385"),
    "softmax groups": (changed(LATENT, router_score="softmax"), "PAR363"),
    "tied": (changed(GPT_OSS, tied=True), "PAR386"),
    "plain gate": (changed(GPT_OSS, activation="silu"), "PAR322"),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_torchtitan_does_otherwise_is_refused(name: str) -> None:
    model, code = OTHERWISE[name]
    assert [found.code for found in TARGET.refuses(job_of(model))] == [code]
    assert_lines_clear(TARGET, job_of(model))


def test_gpt_oss_trains_in_bf16() -> None:
    found = TARGET.refuses(job_of(GPT_OSS, precision="fp8"))
    assert [each.code for each in found] == ["PAR369"]


def test_every_refusal_has_its_case() -> None:
    assert {refusal.code for refusal in TARGET.refusals} == set(REFUSED)


def test_a_gpt_is_refused_for_all_its_reasons_and_never_emitted() -> None:
    plan = sample_plans.sample_plan("torchtitan", model=GPT)
    reasons = TARGET.refuses(plan.job)
    assert {d.code for d in reasons} == {"PAR322", "PAR351", "PAR352", "PAR353"}
    with pytest.raises(JobError) as refused:
        BACKEND.emit(plan)
    assert set(reasons) <= set(refused.value.diagnostics)


@pytest.mark.parametrize(
    "model", [LLAMA3_8B, QWEN3_8B, MIXTRAL_8X7B, LATENT, GPT_OSS], ids=lambda model: model.name
)
@pytest.mark.parametrize(
    "gpu", [sample_plans.A100, sample_plans.H100, sample_plans.MI300X], ids=lambda gpu: gpu.name
)
def test_what_torchtitan_has_is_not_refused(model: Model, gpu: Gpu) -> None:
    assert TARGET.refuses(job_of(model, gpu=gpu)) == []


def test_states_take_sixteen_bytes_in_shards() -> None:
    def total(zero: int, shards: int, nodes: int = 8) -> float:
        job = job_of() if nodes > 1 else sample_plans.sample_job("torchtitan", gpus_per_node=1)
        state = TARGET.traits.memory.state(job, zero)
        kinds = ("weights", "gradients", "optimizer")
        ways = {kind: shards if getattr(state, f"{kind}_sharded") else 1 for kind in kinds}
        held = sum(float(getattr(state, kind)) / ways[kind] for kind in kinds)
        return state.gathered + held

    assert total(3, 8) == 16 / 8
    assert total(2, 8) == 16 / 8 + 2
    assert total(1, 8) == 12 / 8 + 4 + 2
    assert total(0, 1, nodes=1) == 16 + 2


def test_a_tied_model_that_does_not_fit_is_told_why() -> None:
    """0.2.2 keeps tied weights whole on each GPU: more nodes do not help."""
    job = sample_plans.sample_job(
        "torchtitan", model=std_model("llama3_2_3b"), train=train_of(seq_len=8192), nodes=(2,)
    )
    with pytest.raises(JobError) as refused:
        plan(job, TARGET)
    (found,) = refused.value.diagnostics
    assert found.code == "PAR511" and found.help is not None and "nodes" not in found.help
    assert 'version = "0.3"' in found.help and "tied = false" in found.help
    assert any("PAR345" in note.message for note in found.notes)


@pytest.mark.parametrize("said", ["activation = gelu", "gated = false"])
def test_a_feed_forward_is_refused_where_the_job_says_it(said: str) -> None:
    job = loads(
        f"model from std.llama3_8b {{ layers = 4; {said} }}\n"
        "cluster from std.h100_pod { nodes = 4 }\n"
        "train { seq_len = 8192; global_batch = 512; steps = 100 }\n"
        "target torchtitan { }\n",
        targets={"torchtitan": TARGET.options},
    )
    (found,) = (each for each in TARGET.refuses(job) if each.code == "PAR322")
    assert found.span is not None and found.span.text == said
