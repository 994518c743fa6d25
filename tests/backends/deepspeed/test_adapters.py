"""DeepSpeed with adapters of peft: files, what reading them gives back, what is refused, what it costs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import black
import numpy as np
import pytest

import parc
from parc.backends import BACKENDS
from parc.backends.deepspeed import BACKEND
from parc.backends.deepspeed.options import Options
from parc.compiler.plan import Layout, Plan
from parc.compiler.tuning.ledger import ledger, trained_share
from parc.dsl.job import Train
from parc.dsl.tuning import Adapters
from tests.support.read_back import assert_plan_is_back
from tests.support.refusal_lines import assert_lines_clear
from tests.support.sample_plans import LLAMA3_8B, sample_job, sample_plan, train_of

HF = Options(model="hf")
LORA = train_of(weights="/models/llama", tune="lora", adapter_rank=8, adapter_targets="attention")
QLORA = train_of(weights="/models/llama", tune="qlora", adapter_rank=8)
LAYOUTS = {
    "zero1": Layout(dp_shard=8, zero=1, microbatches=16),
    "zero3": Layout(dp_shard=8, zero=3, microbatches=16, recompute=2),
}


def plan(name: str, train: Train = LORA) -> Plan:
    return sample_plan("deepspeed", HF, layout=LAYOUTS[name], train=train)


@pytest.mark.parametrize("name", LAYOUTS)
def test_files_are_read_back(name: str) -> None:
    chosen = plan(name)
    files = BACKEND.emit(chosen)
    assert_plan_is_back(chosen, files)
    script = files["deepspeed/train.py"]
    assert black.format_str(script, mode=black.Mode()) == script
    assert 'TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj"]' in script
    assert "r=8," in script and "get_peft_model" in script
    assert ("GatheredParameters(trained)" in script) == (name == "zero3")
    ast.parse(script)


def test_training_all_weights_knows_no_adapters() -> None:
    for train in (
        train_of(weights="/models/llama"),
        train_of(weights="/models/llama", tune="full"),
    ):
        script = BACKEND.emit(plan("zero1", train))["deepspeed/train.py"]
        assert "peft" not in script and "requires_grad" not in script


@pytest.mark.parametrize(
    ("options", "settings", "code"),
    [
        (HF, {"tune": "qlora", "compile": True}, "PAR488"),
        (Options(), {"tune": "lora"}, "PAR487"),
        (HF, {"tune": "lora", "elastic": True}, "PAR489"),
    ],
)
def test_what_is_not_trained_is_refused(options: Any, settings: dict[str, Any], code: str) -> None:
    job = sample_job("deepspeed", options, train=train_of(weights="here", **settings))
    (said,) = BACKEND.target.refuses(job)
    assert said.code == code and said.help
    assert_lines_clear(BACKEND.target, job)


@pytest.mark.parametrize("target", ["megatron", "torchtitan"])
@pytest.mark.parametrize("tune", ["lora", "qlora"])
def test_other_targets_name_the_one_that_trains_adapters(target: str, tune: str) -> None:
    job = sample_job(target, train=train_of(weights="here", tune=tune))
    said = [each for each in BACKENDS[target].target.refuses(job) if each.code == "PAR332"]
    assert len(said) == 1 and "target deepspeed { model = hf }" in str(said[0].help)


def test_weights_in_four_bits_are_read_as_they_arrive() -> None:
    chosen = plan("zero1", QLORA)
    files = BACKEND.emit(chosen)
    assert_plan_is_back(chosen, files)
    script = files["deepspeed/train.py"]
    assert black.format_str(script, mode=black.Mode()) == script
    assert "Linear4bit" in script and "exclude_frozen_parameters=True" in script
    assert 'parser.add_argument("--weights", required=True' in script


def test_weights_in_four_bits_are_not_divided() -> None:
    job = sample_job("deepspeed", HF, train=QLORA)
    (rule,) = (each for each in BACKEND.target.predicates if each.code == "PAR490")
    stages = {"zero": np.array([0, 1, 2, 3])}
    assert list(np.asarray(rule.holds(job, **stages))) == [True, True, True, False]
    assert np.all(rule.holds(sample_job("deepspeed", HF, train=LORA), **stages))
    assert "tune = lora" in rule.cure and "qlora" in rule.message(job, zero=3)


def test_states_in_four_bits_are_those_of_the_ledger() -> None:
    job = sample_job("deepspeed", HF, train=QLORA)
    state = BACKEND.target.traits.memory.state(job, 2)
    sheet = ledger(LLAMA3_8B, "qlora", Adapters(rank=8), adapter_bytes=2)
    whole = sheet.frozen_parameters
    frozen = sheet.quantized_bytes + sheet.frozen_bytes
    assert state.weights * whole == pytest.approx(frozen + sheet.trained_bytes)
    assert state.unsaved * whole == pytest.approx(frozen)
    assert state.optimizer * whole == pytest.approx(12 * sheet.trained_parameters)


def test_states_are_those_of_the_ledger() -> None:
    """Bytes per parameter of the target, times the parameters, are the bytes of the ledger."""
    job = sample_job("deepspeed", HF, train=LORA)
    state = BACKEND.target.traits.memory.state(job, 0)
    sheet = ledger(LLAMA3_8B, "lora", Adapters(rank=8, targets="attention"), adapter_bytes=2)
    whole = sheet.frozen_parameters
    assert state.weights * whole == pytest.approx(sheet.frozen_bytes + sheet.trained_bytes)
    assert state.gradients * whole == pytest.approx(2 * sheet.trained_parameters)
    assert state.optimizer * whole == pytest.approx(12 * sheet.trained_parameters)


def test_frozen_weights_take_no_state_and_two_thirds_of_the_products(tmp_path: Path) -> None:
    text = """
    model from std.llama3_8b {{ }}
    cluster from std.dgx_a100 {{ nodes = 1; gpus_per_node = 8 }}
    train {{ seq_len = 2048; global_batch = 128; steps = 100; weights = "here"; tune = {tune}; {more} }}
    target deepspeed {{ model = hf }}
    """
    layout: dict[str, int | str] = {"zero": 1, "micro_batch": 1, "recompute": "full"}

    def price(tune: str, more: str = "") -> Any:
        path = tmp_path / "a.par"
        path.write_text(text.format(tune=tune, more=more), "utf-8")
        return parc.estimate(parc.load(path), layout, "deepspeed")

    full, linear, packed = price("full"), price("lora"), price("qlora")
    attention = price("lora", "adapter_targets = attention")
    assert linear.memory_bytes < full.memory_bytes - 20e9
    assert attention.memory_bytes < linear.memory_bytes
    assert 0.6 < linear.step_seconds / full.step_seconds < 0.9
    assert attention.step_seconds < linear.step_seconds
    # 7 billion parameters of projections at 1.5 bytes less each, and one matrix as it is multiplied.
    assert 9.5e9 < linear.memory_bytes - packed.memory_bytes < 10.5e9
    assert 1.0 < packed.step_seconds / linear.step_seconds < 1.2


def test_training_without_adapters_is_priced_as_ever() -> None:
    for settings in ({}, {"weights": "here"}, {"weights": "here", "tune": "full"}):
        job = sample_job("deepspeed", HF, train=train_of(**settings))
        assert trained_share(job) == 1.0
        assert not {"reduce_bytes", "updated_weight_bytes"} & set(BACKEND.target.stack(job))
