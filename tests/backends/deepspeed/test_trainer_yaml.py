"""YAML with the Trainer's arguments, alone and with the DeepSpeed config that it names."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.reading.facts import LaunchConfig, Unknown

FACTORY = """### model
model_name_or_path: some/model
deepspeed: configs/ds_z3.json
cutoff_len: 4096
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
learning_rate: 1.0e-5
bf16: true
"""
AXOLOTL = """base_model: some/model
sequence_len: 8192
micro_batch_size: 1
gradient_accumulation_steps: 4
bf16: auto
gradient_checkpointing: true
"""
JSON = '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto", "bf16": {}}'


def job(**texts: str) -> LaunchConfig:
    named = {
        name.replace("__", "/").replace("_yaml", ".yaml"): text for name, text in texts.items()
    }
    return next(config for config in read_jobs(named) if str(config.kind) == "trainer-yaml")


def facts(config: LaunchConfig) -> dict[str, Any]:
    return {
        name: value for name, value in config.values().items() if not isinstance(value, Unknown)
    }


def test_llama_factory_with_its_deepspeed_config() -> None:
    texts = {"train.yaml": FACTORY, "configs/ds_z3.json": JSON}
    (found,) = read_jobs(texts)
    assert found.framework == "deepspeed" and set(found.texts) == set(texts)
    expected = {
        "micro_batch": 2,
        "microbatches": 8,
        "seq_len": 4096,
        "precision": "bf16",
        "zero": 3,
    }
    assert {name: facts(found)[name] for name in expected} == expected
    (zero,) = (fact for fact in found.facts if fact.name == "zero")
    assert (zero.path, zero.line) == ("configs/ds_z3.json", 1)


@pytest.mark.parametrize("place", ["configs/ds_z3.json", "jobs/configs/ds_z3.json"])
def test_the_config_is_found_from_here_or_from_the_yaml(place: str) -> None:
    (found,) = read_jobs({"jobs/train.yaml": FACTORY, place: JSON})
    assert facts(found)["zero"] == 3


def test_a_config_that_is_not_here_is_said() -> None:
    found = job(train_yaml=FACTORY)
    assert [each.reason for each in found.unread] == ["the DeepSpeed config is not here to be read"]
    assert "zero" not in facts(found) and facts(found)["micro_batch"] == 2


def test_axolotl() -> None:
    found = job(a_yaml=AXOLOTL)
    assert facts(found) == {
        "micro_batch": 1,
        "microbatches": 4,
        "seq_len": 8192,
        "recompute": "full",
    }
    assert isinstance(found.value("precision"), Unknown) and found.framework is None


@pytest.mark.parametrize("value", ["auto", "2.5", "[1, 2]", "${BATCH}"])
def test_what_is_no_number_is_not_guessed(value: str) -> None:
    found = job(a_yaml=AXOLOTL.replace("micro_batch_size: 1", f"micro_batch_size: {value}"))
    assert "micro_batch" not in facts(found)
