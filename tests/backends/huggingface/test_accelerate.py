"""`accelerate launch`, its YAML, the DeepSpeed config that either names, the Trainer's arguments: one job."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.reading.facts import LaunchConfig, Unknown

YAML = """compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  gradient_accumulation_steps: 4
  offload_optimizer_device: cpu
  offload_param_device: none
  zero_stage: 3
mixed_precision: bf16
num_machines: 2
num_processes: 16
"""
LAUNCH = "accelerate launch --config_file acc.yaml {launcher}"
COMMAND = f"{LAUNCH} train.py --per_device_train_batch_size 2 {{own}}\n"
JSON = """{"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"},
"gradient_accumulation_steps": "auto"}"""


def job(launcher: str = "", own: str = "", **files: str) -> LaunchConfig:
    given = {"acc.yaml": YAML, "ds.json": JSON} | {
        name.replace("_", "."): text for name, text in files.items()
    }
    texts = {"run.sh": COMMAND.format(launcher=launcher, own=own), **given}
    return next(config for config in read_jobs(texts) if "run.sh" in config.texts)


def facts(config: LaunchConfig) -> dict[str, Any]:
    return {
        name: "?" if isinstance(value, Unknown) else value
        for name, value in config.values().items()
    }


def test_the_yaml_says_what_the_command_does_not() -> None:
    found = job()
    assert facts(found) == {
        "nodes": 2, "gpus": 16, "gpus_per_node": 8, "zero": 3, "microbatches": 4, "precision": "bf16",
        "offload": "optimizer", "micro_batch": 2,
    }  # fmt: skip
    (zero,) = (fact for fact in found.facts if fact.name == "zero")
    assert (zero.path, zero.line, zero.column) == ("acc.yaml", 7, 15)
    assert set(found.texts) >= {"run.sh", "acc.yaml"}


def test_the_command_goes_before_the_yaml() -> None:
    found = facts(job(launcher="--num_processes 4 --num_machines 1 --zero_stage 1"))
    assert (found["nodes"], found["gpus"], found["gpus_per_node"]) == (1, 4, 4)
    assert found.get("zero") != 3


@pytest.mark.parametrize(
    ("launcher", "own", "yaml"),
    [
        ("", "--deepspeed ds.json", YAML),
        ("--use_deepspeed --deepspeed_config_file ds.json", "", YAML),
        ("", "", YAML.replace("zero_stage: 3", "deepspeed_config_file: ds.json")),
    ],
    ids=["program", "launcher", "yaml"],
)
def test_the_json_is_found_by_whom_it_is_named(launcher: str, own: str, yaml: str) -> None:
    found = job(launcher, f"{own} --gradient_accumulation_steps 8 --bf16", acc_yaml=yaml)
    read = facts(found)
    assert (read["zero"], read["microbatches"], read["gpus"]) == (2, 8, 16)
    assert read["precision"] == "bf16" and "ds.json" in found.texts


def test_another_kind_of_job_is_not_deepspeed_s() -> None:
    texts = {
        "run.sh": COMMAND.format(launcher="", own=""),
        "acc.yaml": YAML.replace("DEEPSPEED", "FSDP"),
    }
    assert all(config.framework != "deepspeed" for config in read_jobs(texts))


def test_a_yaml_that_is_not_read_is_said() -> None:
    own = "--deepspeed ds.json"
    broken = job(own=own, acc_yaml="distributed_type: [")
    assert [(each.path, "line" in each.reason) for each in broken.unread] == [("acc.yaml", True)]
    texts = {"run.sh": COMMAND.format(launcher="", own=own), "ds.json": JSON}
    (found,) = read_jobs(texts)
    assert [each.reason for each in found.unread] == [
        "the configuration of accelerate is not here to be read"
    ]
    assert facts(found)["gpus"] == "?"


def test_a_yaml_alone_is_a_job_s_configuration() -> None:
    (found,) = read_jobs({"acc.yaml": YAML})
    assert str(found.kind) == "accelerate-yaml" and found.framework == "deepspeed"
    assert facts(found)["gpus_per_node"] == 8 and facts(found)["zero"] == 3
    (other,) = read_jobs({"values.yml": "replicas: 3\n"})
    assert (
        str(other.kind) == "unread"
        and "not a configuration that parc reads" in other.unread[0].reason
    )
