"""Megatron-LM's model of emitted scripts has transformers' loss and gradients, in fp32 on a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.megatron.options import Options
from parc.compiler.plan import Layout, Plan
from parc.dsl.model import Model
from tests.acceptance.support.hugging_face import BATCH, FAMILIES, SEQUENCE, references, tiny
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.recorded_launches import recorded, write
from tests.support.sample_plans import sample_plan, train_of

BACKEND = BACKENDS["megatron"]
#: Of the loss, and of a gradient's entries relative to its largest one.
LOSS, GRADIENT = 1e-4, 1e-3
#: Family -> what its tiny model must have, because Megatron-LM has no other value.
VALUES: Mapping[str, Mapping[str, object]] = {
    "llama3_1_8b": {"rope_original_positions": 8192},
    "deepseek_v3": {"rope_original_positions": 4096},
}
#: Family -> code of the refusal; all others are claimed.
REFUSED = {"llama3_2_1b": "PAR377", "deepseek_v2_lite": "PAR380"}
CLAIMED = [name for name in FAMILIES if name not in REFUSED]
#: Family -> words of its command line, and what makes another model of it.
SPOILED = {
    "llama3_1_8b": (["--use-rope-scaling"], []),
    "qwen3_30b_a3b": (["--moe-router-score-function", "softmax"], ["--moe-router-pre-softmax"]),
    "deepseek_v3": (["--mscale-all-dim", "1.0"], []),
    "gpt_oss_20b": (["--window-attn-skip-freq", "2"], []),
}


def model_of(name: str) -> Model:
    return tiny(name, **VALUES.get(name, {}))


def plan_of(model: Model) -> Plan:
    train = train_of(seq_len=SEQUENCE, global_batch=BATCH, steps=10, warmup=1, weights="tiny")
    layout = Layout(micro_batch=BATCH, microbatches=1)
    return sample_plan("megatron", Options(), model=model, train=train, layout=layout)


def case_of(name: str, folder: Path, reference: str) -> dict[str, Any]:
    here = write(BACKEND.emit(plan_of(model_of(name))), folder / name)
    started = recorded(here / "megatron" / "pretrain.sh", here, 1)
    return {
        "name": name,
        "arguments": list(started.program[1:]),
        "converter": str(here / "megatron" / "convert.py"),
        "folder": reference,
    }


def spoiled(case: dict[str, Any], words: list[str], instead: list[str]) -> dict[str, Any]:
    arguments = case["arguments"]
    at = next(n for n in range(len(arguments)) if arguments[n : n + len(words)] == words)
    changed = arguments[:at] + instead + arguments[at + len(words) :]
    return case | {"name": case["name"] + " spoiled", "arguments": changed}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return references(CLAIMED, tmp_path_factory.mktemp("transformers"), VALUES)


@pytest.fixture(scope="module")
def answers(
    expected: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """By family, and of the spoiled command lines by family and " spoiled"."""
    folder = tmp_path_factory.mktemp("megatron")
    cases = [case_of(name, folder, expected[name]["folder"]) for name in CLAIMED]
    named = {case["name"]: case for case in cases}
    cases += [spoiled(named[name], *change) for name, change in SPOILED.items()]
    found = probe("megatron", "megatron_forward_probe", cases, folder)
    return {answer["name"]: answer for answer in found}


@pytest.mark.parametrize("name", CLAIMED)
def test_loss_and_gradients_are_those_of_transformers(
    name: str, answers: dict[str, dict[str, Any]], expected: dict[str, dict[str, Any]]
) -> None:
    answer = answers[name]
    assert answer["stage"] == "compared", answer
    assert answer["loss"] == pytest.approx(expected[name]["loss"], abs=LOSS)
    assert max(answer["deviation"].values()) < GRADIENT, answer["deviation"]


@pytest.mark.parametrize("name", SPOILED)
def test_another_model_is_told_apart(
    name: str, answers: dict[str, dict[str, Any]], expected: dict[str, dict[str, Any]]
) -> None:
    answer = answers[f"{name} spoiled"]
    assert answer["stage"] == "compared", answer
    assert abs(answer["loss"] - expected[name]["loss"]) > 3 * LOSS
    assert max(answer["deviation"].values()) > 10 * GRADIENT


@pytest.mark.parametrize("name", REFUSED)
def test_what_megatron_lacks_is_refused_by_name(name: str) -> None:
    found = BACKEND.target.refuses(plan_of(model_of(name)).job)
    assert REFUSED[name] in [refusal.code for refusal in found]
