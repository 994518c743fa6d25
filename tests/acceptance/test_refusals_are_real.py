"""What a predicate forbids, the framework refuses too, or the predicate says why parc is stricter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.compiler.pipeline.schedule import DIVIDED, GPIPE
from parc.compiler.plan import Layout
from tests.acceptance import test_deepspeed_accepts, test_megatron_accepts, test_torchtitan_accepts
from tests.acceptance.support.forbidden_layouts import DENSE, Forbidden, forbidden, forced
from tests.acceptance.support.probe_runs import probe

#: Layouts of each setting for each predicate.
EACH = 2
#: Rules that layouts of `forbidden_layouts.py` never or seldom break alone: heads and widths that tp does not
#: divide break others too, some do not hold for a release, and the rest need rarer jobs.
SELDOM_ALONE = {
    "megatron": {
        "PAR113", "PAR119", "PAR131", "PAR208", "PAR443", "PAR444", "PAR445", "PAR446", "PAR447",
        "PAR449",
    },
    "deepspeed": {"PAR111", "PAR437", "PAR438", "PAR450", "PAR451", "PAR452"},
    "torchtitan": {
        "PAR111", "PAR112", "PAR113", "PAR117", "PAR131", "PAR203", "PAR347", "PAR349", "PAR455", "PAR457",
        "PAR458", "PAR459", "PAR461",
    },
    "torchtitan-0.3": {
        "PAR111", "PAR112", "PAR113", "PAR117", "PAR131", "PAR203", "PAR342", "PAR345", "PAR346",
        "PAR347", "PAR348", "PAR388", "PAR392", "PAR455", "PAR457", "PAR458", "PAR459",
    },
}  # fmt: skip


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
    return bool(found.predicate.stricter) or undocumented


@pytest.mark.parametrize("target", PROBES)
def test_the_framework_refuses_it_too(target: str, request: Any, tmp_path: Path) -> None:
    environment, program, case_of = PROBES[target]
    layouts = list(forbidden(target, request.config.getoption("--seed"), EACH))
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
    assert every - tried <= SELDOM_ALONE[target]


def test_every_batch_of_a_ramp_divides(tmp_path: Path) -> None:
    """PAR208: Megatron-LM looks at a step's batch when it begins, and 3 sequences are no 2 micro-batches."""
    layout = Layout(dp_shard=2, zero=1, microbatches=6)
    ramp: dict[str, Any] = {"ramp_from": 3, "ramp_tokens": 3072 * 120}
    found = forced("megatron", "ramp", DENSE, layout, **ramp)
    assert found.predicate.code == "PAR208"
    cases = [{**case, "walk": True} for case in _megatron(found, tmp_path)]
    (answer,) = probe("megatron", "megatron_probe", cases, tmp_path)
    assert answer["stage"] == "walk" and "not divisible" in answer["error"]


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
    wrong = {
        "gpipe": of_one.model_copy(update={"vpp": 2, "order": GPIPE}),
        "interleaved_zb": of_one.model_copy(update={"order": DIVIDED}),
    }
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
