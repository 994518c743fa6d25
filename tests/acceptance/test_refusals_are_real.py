"""What a predicate forbids, the framework refuses too, or the predicate says why parc is stricter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.compiler.pipeline.schedule import DIVIDED, DUAL, GPIPE, ZBV
from parc.compiler.plan import Layout
from tests.acceptance import test_deepspeed_accepts, test_megatron_accepts, test_torchtitan_accepts
from tests.acceptance.support.forbidden_layouts import Forbidden, forbidden, forced
from tests.acceptance.support.forbidden_settings import DENSE, EXPERTS
from tests.acceptance.support.probe_runs import probe

#: Rules that no layout of a target's settings can break alone, and why. Every other one is met for each seed.
NEVER_ALONE = {
    "megatron": {
        "PAR208": "asks for a batch of its own: test_every_batch_of_a_ramp_divides",
        "PAR443": "0.17 and later write those checkpoints",
        "PAR444": "0.16 and later copy key-value heads",
        "PAR449": "0.16 and later make them again in fp4",
        "PAR499": "no layout repeats the MoE half: test_the_exchange_of_experts_runs_beside_work",
        "PAR453": "of `elastic` jobs alone, whose checkpoints parc keeps in one format: test_rules.py",
    },
    "deepspeed": {
        "PAR111": "key-value heads divide heads: PAR112 is broken too",
        "PAR451": "0.16 and later train with AutoTP",
        "PAR452": "0.17 and later have the groups",
    },
    "torchtitan": {
        "PAR398": "PyTorch lists the passes of 16,384 micro-batches, for half an hour",
        "PAR349": "0.2 ties stages",
        "PAR455": "0.2.1 and later keep the output",
        "PAR457": "of 0.2.1 alone",
        "PAR458": "0.2.2 divides the angles",
        "PAR461": "0.2 has no CUDA graphs, and refuses the setting",
    },
    "torchtitan-0.3": {
        "PAR398": "PyTorch lists the passes of 16,384 micro-batches, for half an hour",
        "PAR111": "without latent attention key-value heads divide heads: PAR112 is broken too",
        "PAR342": "it pipelines all of its models",
        "PAR345": "it shards tied weights",
        "PAR346": "it has no fp8, and refuses the setting",
        "PAR347": "it has no mxfp8, and refuses the setting",
        "PAR348": "it recomputes experts selectively",
        "PAR388": "it divides all of its models",
        "PAR392": "its validator divides the angles",
        "PAR455": "it keeps the output",
        "PAR457": "of 0.2.1 alone",
        "PAR458": "it divides the angles",
    },
}


def _megatron(found: Forbidden, folder: Path) -> list[dict[str, Any]]:
    return [test_megatron_accepts.case_of(found.job, folder, build=True)]


def _deepspeed(found: Forbidden, folder: Path) -> list[dict[str, Any]]:
    return test_deepspeed_accepts.cases_of(found.job, folder)[:1]


def _torchtitan(found: Forbidden, folder: Path) -> list[dict[str, Any]]:
    return test_torchtitan_accepts.cases_of(found.job, folder)[:1]


#: Target -> environment, probe and how a case is made.
Cases = Callable[[Forbidden, Path], list[dict[str, Any]]]
PROBES: dict[str, tuple[str, str, Cases]] = {
    "megatron": ("megatron", "megatron_probe", _megatron),
    "deepspeed": ("deepspeed", "deepspeed_probe", _deepspeed),
    "torchtitan": ("torchtitan-0.2.2", "torchtitan_probe", _torchtitan),
    "torchtitan-0.3": ("torchtitan-0.3.0", "torchtitan_python_probe", _torchtitan),
}


def parc_alone_refuses(found: Forbidden) -> bool:
    """By what the predicate says, or where torchtitan's documentation is stricter than its code: ep takes all
    of tp in the first, and is whatever divides a stage's GPUs in the second."""
    plan = found.job.plan
    assert plan is not None
    layout = plan.layout
    divides = layout.dp_shard * layout.cp * layout.tp % layout.ep == 0
    undocumented = plan.target == "torchtitan" and found.predicate.code == "PAR102" and divides
    return bool(found.predicate.stricter) or undocumented or breaks_in_its_first_step(found)


def breaks_in_its_first_step(found: Forbidden) -> bool:
    """torchtitan 0.3 counts a sequence's parts for tp and cp when the trainer is made, and those of the loss
    and of FlexAttention when they are called."""
    plan = found.job.plan
    assert plan is not None
    counted = plan.layout.tp * (2 * plan.layout.cp if plan.layout.cp > 1 else 1)
    late = plan.target == "torchtitan" and plan.options.version == "0.3"
    return late and found.predicate.code == "PAR131" and plan.job.train.seq_len % counted == 0


@pytest.mark.parametrize("target", PROBES)
def test_the_framework_refuses_it_too(
    target: str, request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PAR303 keeps PAR450's layouts from being written, and DeepSpeed is to see them.
    monkeypatch.setattr("parc.backends.deepspeed.emit.files.broken_keys", lambda *_: ())
    environment, program, case_of = PROBES[target]
    layouts = list(forbidden(target, request.config.getoption("--seed")))
    asked = [layout for layout in layouts if not parc_alone_refuses(layout)]
    cases = [case for layout in asked for case in case_of(layout, tmp_path)]
    answers = probe(environment, program, cases, tmp_path)
    lenient = {
        layout.predicate.code: answer
        for layout, answer in zip(asked, answers, strict=True)
        if answer["stage"] == "accepted"
    }
    assert not lenient
    tried = {layout.predicate.code for layout in layouts}
    every = {predicate.code for predicate in BACKENDS[target.partition("-")[0]].target.predicates}
    assert every - tried == NEVER_ALONE[target].keys()


def test_every_batch_of_a_ramp_divides(tmp_path: Path) -> None:
    """PAR208: Megatron-LM looks at a step's batch when it begins, and 3 sequences are no 2 micro-batches."""
    layout = Layout(dp_shard=2, zero=1, microbatches=6)
    ramp: dict[str, Any] = {"ramp_from": 3, "ramp_tokens": 3072 * 120}
    found = forced("megatron", "ramp", DENSE, layout, **ramp)
    assert found.predicate.code == "PAR208"
    cases = [{**case, "walk": True} for case in _megatron(found, tmp_path)]
    (answer,) = probe("megatron", "megatron_probe", cases, tmp_path)
    assert answer["stage"] == "walk" and "not divisible" in answer["error"]


def test_the_exchange_of_experts_runs_beside_work_where_its_schedule_can(tmp_path: Path) -> None:
    refused = {
        "PAR477": (
            Layout(ep=2, dp_shard=2, pp=2, zero=1, microbatches=4),
            "virtual_pipeline_model_parallel_size",
        ),
        "PAR478": (
            Layout(ep=2, dp_shard=2, zero=1, microbatches=4, recompute=2),
            "full recomputation",
        ),
        "PAR499": (
            Layout(ep=2, dp_shard=2, zero=1, microbatches=4, recompute=4),
            "disable moe in recompute_modules",
        ),
    }
    found = {
        code: forced("megatron", code, EXPERTS, layout, {"ep_overlap": True})
        for code, (layout, _) in refused.items()
    }
    assert {code: each.predicate.code for code, each in found.items()} == {c: c for c in refused}
    cases = [case for each in found.values() for case in _megatron(each, tmp_path)]
    answers = probe("megatron", "megatron_probe", cases, tmp_path)
    assert [answer["stage"] for answer in answers] == ["configurations"] * len(refused)
    for answer, (_, words) in zip(answers, refused.values(), strict=True):
        assert words in answer["error"]


def test_muon_starts_at_zero_1_alone(tmp_path: Path) -> None:
    """PAR309 is stricter there, as it says, and Megatron-LM's own rule above."""
    layouts = {zero: Layout(dp_shard=2, zero=zero, microbatches=2) for zero in (1, 2, 3)}
    found = {
        zero: forced("megatron", f"muon-{zero}", DENSE, layout, optimizer="muon")
        for zero, layout in layouts.items()
    }
    assert {each.predicate.code for each in found.values()} == {"PAR309"}
    assert "at zero 1" in found[1].predicate.stricter
    cases = [case for each in found.values() for case in _megatron(each, tmp_path)]
    answers = probe("megatron", "megatron_probe", cases, tmp_path)
    assert [answer["stage"] for answer in answers] == ["accepted", "validation", "validation"]
    assert all("muon" in answer["error"] for answer in answers[1:])


@pytest.mark.parametrize("version", ["0.2.2", "0.3"])
def test_a_schedule_wants_its_number_of_stages(version: str, tmp_path: Path) -> None:
    """PAR182 is stricter without a pipeline alone: in one, torchtitan refuses too."""
    of_one = Layout(pp=2, dp_shard=2, zero=1, microbatches=4)
    wrong = {"gpipe": of_one.model_copy(update={"vpp": 2, "order": GPIPE})}
    if version == "0.2.2":
        wrong["interleaved_zb"] = of_one.model_copy(update={"order": DIVIDED})
        wrong["zbv"] = of_one.model_copy(update={"vpp": 3, "order": ZBV})
        wrong["dualpipev"] = of_one.model_copy(update={"vpp": 3, "order": DUAL})
    found = {
        name: forced(
            "torchtitan", f"stages-{name}", DENSE, layout, {"schedule": name, "version": version}
        )
        for name, layout in wrong.items()
    }
    assert {each.predicate.code for each in found.values()} == {"PAR182"}
    cases = [case for each in found.values() for case in _torchtitan(each, tmp_path)]
    environment, program, _ = PROBES["torchtitan" if version == "0.2.2" else "torchtitan-0.3"]
    answers = probe(environment, program, cases, tmp_path)
    assert all("stage" in answer["error"] for answer in answers), answers
