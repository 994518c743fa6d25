"""A command and the YAML of a trainer's arguments that it names: one job."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.reading.facts import LaunchConfig, Unknown

YAML = """model_name_or_path: some/model
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
learning_rate: 1.0e-5
bf16: true
"""
SAID = {"micro_batch": 2, "microbatches": 8, "precision": "bf16"}
JSON = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}'


def job(command: str, **texts: str) -> LaunchConfig:
    named = {"x.yaml": YAML} | {name.replace("_", "."): text for name, text in texts.items()}
    jobs = read_jobs({"run.sh": command + "\n", **named})
    (found,) = (each for each in jobs if "run.sh" in each.texts)
    return found


def facts(config: LaunchConfig) -> dict[str, Any]:
    return {
        name: value for name, value in config.values().items() if not isinstance(value, Unknown)
    }


TWO_BY_FOUR = {"nodes": 2, "gpus_per_node": 4, "gpus": 8}


@pytest.mark.parametrize(
    ("command", "shape"),
    [
        ("NNODES=2 NPROC_PER_NODE=4 llamafactory-cli train x.yaml", TWO_BY_FOUR),
        ("srun llamafactory-cli train x.yaml", {"nodes": 1}),
        ("axolotl train x.yaml --launcher torchrun -- --nnodes 2 --nproc_per_node=4", TWO_BY_FOUR),
        ("axolotl train --num-processes 8 x.yaml", {"gpus": 8}),
        ("axolotl train x.yaml --launcher $LAUNCHER", {}),
        ("accelerate launch --num_machines 2 --num_processes 8 -m axolotl.cli.train x.yaml", TWO_BY_FOUR),
        ("trl sft --config x.yaml --num_machines 2 --num_processes 8", TWO_BY_FOUR),
        ("torchrun --nnodes 2 --nproc-per-node 4 train.py x.yaml", TWO_BY_FOUR),
        ("torchrun --nnodes 2 --nproc-per-node 4 train.py --lora 1 --config=x.yaml", TWO_BY_FOUR),
    ],
)  # fmt: skip
def test_the_launcher_and_the_yaml(command: str, shape: dict[str, int]) -> None:
    found = job(command)
    assert facts(found) == SAID | shape and found.framework is None
    assert set(found.texts) == {"run.sh", "x.yaml"} and str(found.kind) == "trainer-bash"
    (batch,) = (fact for fact in found.facts if fact.name == "micro_batch")
    assert (batch.path, batch.line, batch.column) == ("x.yaml", 2, 30)


@pytest.mark.parametrize(
    "given", ["per_device_train_batch_size=4", "--per_device_train_batch_size 4",
              "--per-device-train-batch-size=4"],
)  # fmt: skip
def test_the_command_goes_before_the_yaml(given: str) -> None:
    found = job(f"llamafactory-cli train x.yaml {given}")
    (batch,) = (fact for fact in found.facts if fact.name == "micro_batch")
    assert (batch.value, batch.path) == (4, "run.sh")


def test_what_the_command_may_replace_is_unknown() -> None:
    found = job(
        "ARGS=$(cat args)\ntorchrun train.py x.yaml --per_device_train_batch_size $ARGS $ARGS"
    )
    assert "micro_batch" not in facts(found) and "microbatches" not in facts(found)


def test_deepspeed_by_the_yaml_by_accelerate_and_by_a_name_of_trls() -> None:
    by_yaml = job("torchrun train.py x.yaml", x_yaml=YAML + "deepspeed: ds.json\n", ds_json=JSON)
    accelerate = (
        "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 3\n"
    )
    launch = "accelerate launch --config_file acc.yaml train.py --config x.yaml"
    by_accelerate = job(launch, acc_yaml=accelerate)
    by_name = job("trl sft --config x.yaml --accelerate_config zero3")
    for found in (by_yaml, by_accelerate, by_name):
        assert found.framework == "deepspeed"
        assert facts(found).items() >= {**SAID, "zero": 3}.items(), found.values()
    assert facts(by_accelerate)["gpus"] == 8 and "ds.json" in by_yaml.texts


def test_a_yaml_that_the_script_writes() -> None:
    found = job(
        f"N=$(nproc)\ncat > /t/w.yaml <<EOF\n{YAML}cutoff_len: $N\nEOF\naxolotl train /t/w.yaml"
    )
    assert facts(found) == SAID and isinstance(found.value("seq_len"), Unknown)
    (precision,) = (fact for fact in found.facts if fact.name == "precision")
    assert (precision.path, precision.line) == ("run.sh", 7)


def test_a_yaml_that_is_not_here_is_said() -> None:
    found = job("llamafactory-cli train configs/other.yaml")
    assert [each.reason for each in found.unread] == [
        "the YAML of the trainer is not here to be read"
    ]


@pytest.mark.parametrize(
    "command", ["conda activate axolotl", "llamafactory-cli export x.yaml", "pip install trl",
                "trl env", "echo axolotl train x.yaml"],
)  # fmt: skip
def test_other_words_start_nothing(command: str) -> None:
    assert facts(job(f"#!/bin/bash\n{command}")) == {}


def test_another_yaml_is_no_trainers() -> None:
    found = job("torchrun train.py other.yaml", other_yaml="learning_rate: 1\n")
    assert str(found.kind) == "bash" and "micro_batch" not in facts(found)
