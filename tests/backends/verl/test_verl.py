"""verl's commands: the actor's training, and nothing of the rollout's or the reference's."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge
from parc.reading.facts import LaunchConfig, Unknown

ACTOR = "actor_rollout_ref.actor."
FSDP = f"""MICRO=4
python3 -m verl.trainer.main_ppo data.train_batch_size=1024 \\
  {ACTOR}ppo_mini_batch_size=256 {ACTOR}ppo_micro_batch_size_per_gpu=$MICRO \\
  actor_rollout_ref.rollout.n=5 actor_rollout_ref.rollout.tensor_model_parallel_size=2 \\
  actor_rollout_ref.model.enable_gradient_checkpointing=True \\
  trainer.n_gpus_per_node=8 trainer.nnodes=2"""
MEGATRON = FSDP.replace("main_ppo", "main_ppo --config-name=ppo_megatron_trainer.yaml") + (
    f" {ACTOR}megatron.tensor_model_parallel_size=4 {ACTOR}megatron.pipeline_model_parallel_size=2"
    " actor_rollout_ref.ref.megatron.tensor_model_parallel_size=8"
)
TWO_BY_EIGHT = {"nodes": 2, "gpus_per_node": 8, "gpus": 16, "global_batch": 1280, "micro_batch": 4}


def job(command: str) -> LaunchConfig:
    (found,) = read_jobs({"run.sh": command + "\n"})
    return found


def facts(config: LaunchConfig) -> dict[str, Any]:
    return {
        name: value for name, value in config.values().items() if not isinstance(value, Unknown)
    }


def test_fsdp() -> None:
    found = job(FSDP)
    layout = {"tp": 1, "pp": 1, "cp": 1, "ulysses": 1, "dp": 16, "recompute": "full"}
    assert facts(found) == TWO_BY_EIGHT | layout
    (micro,) = (fact for fact in found.facts if fact.name == "micro_batch")
    assert (micro.line, micro.column) == (1, 7) and str(found.kind) == "verl-bash"
    assert found.program == "verl.trainer.main_ppo"


def test_megatron() -> None:
    layout = {"tp": 4, "pp": 2, "cp": 1, "ep": 1, "ulysses": 1, "dp": 2}
    assert facts(job(MEGATRON)) == TWO_BY_EIGHT | layout


def test_defaults_are_those_of_verls_own_configurations_alone() -> None:
    short = f"python3 -m verl.trainer.main_ppo {ACTOR}ppo_mini_batch_size=64"
    assert facts(job(short)) == {
        "nodes": 1, "gpus_per_node": 8, "gpus": 8, "tp": 1, "pp": 1, "cp": 1, "ulysses": 1, "dp": 8,
        "global_batch": 64,
    }  # fmt: skip
    for other in ("main_ppo --config-path=/mine --config-name=grpo", "main_mine"):
        found = job(short.replace("main_ppo", other))
        assert facts(found) == {} and isinstance(found.value("gpus"), Unknown)
    own = FSDP.replace("main_ppo", "main_mine") + f" {ACTOR}use_dynamic_bsz=False"
    assert facts(job(own)).items() >= TWO_BY_EIGHT.items() and "tp" not in facts(job(own))


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (f"{ACTOR}strategy=fsdp2", {"tp": 1}),
        (f"++{ACTOR}ulysses_sequence_parallel_size=4", {"ulysses": 4, "dp": 4}),
        (f"+{ACTOR}fsdp_config.ulysses_sequence_parallel_size=3", {"dp": "invalid"}),
        ("trainer.nnodes=4", {"gpus": 32}),
        ("trainer.nnodes='${oc.env:NODES}'", {"nodes": None, "gpus": None, "dp": None}),
        ("trainer.nnodes=$NODES", {"nodes": None, "gpus": None}),
        ("trainer.nnodes=1.5", {"nodes": None}),
        (f"{ACTOR}use_dynamic_bsz=True", {"micro_batch": None}),
        (f"{ACTOR}ppo_micro_batch_size_per_gpu=null", {"micro_batch": None}),
        ("$(cat more)", {"gpus": 16, "ulysses": None, "dp": None}),
    ],
)  # fmt: skip
def test_an_override(override: str, expected: dict[str, Any]) -> None:
    found = facts(job(f"{FSDP} {override}"))
    assert {name: found.get(name) for name in expected} == expected


def test_other_programs_are_none() -> None:
    found = job("python3 -m verl.trainer.main_generation trainer.nnodes=2 model.path=a")
    assert str(found.kind) == "bash" and "nodes" not in facts(found)


def said(command: str) -> list[str]:
    (judged,) = judge(read_jobs({"run.sh": command + "\n"}), LintOptions())
    return [each.code for each in judged.findings if each.severity != "info"]


@pytest.mark.parametrize(
    ("command", "before", "after", "code"),
    [
        (FSDP, "train_batch_size=1024", "train_batch_size=1001", "PAR472"),
        (FSDP, "train_batch_size=1024", "train_batch_size=128", "PAR472"),
        (FSDP, "MICRO=4", "MICRO=3", "PAR472"),
        (FSDP, "mini_batch_size=256", "mini_batch_size=2", "PAR472"),
        (MEGATRON, "MICRO=4", "MICRO=7", "PAR472"),
        (MEGATRON, "tensor_model_parallel_size=4", "tensor_model_parallel_size=3", "PAR101"),
        (MEGATRON, "pipeline_model_parallel_size=2", "pipeline_model_parallel_size=5", "PAR101"),
    ],
)
def test_what_verl_refuses(command: str, before: str, after: str, code: str) -> None:
    assert said(command) == [] and before in command
    assert code in said(command.replace(before, after))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("virtual_pipeline_model_parallel_size=2 DP", []),
        ("virtual_pipeline_model_parallel_size=2 ODD", ["PAR203"]),
        ("context_parallel_size=1 ODD", []),
        ("virtual_pipeline_model_parallel_size=null ODD", []),
        (
            "virtual_pipeline_model_parallel_size=2 ODD "
            f"+{ACTOR}megatron.override_transformer_config.microbatch_group_size_per_vp_stage=3",
            [],
        ),
        (f"virtual_pipeline_model_parallel_size=2 ODD {ACTOR}use_dynamic_bsz=True", []),
    ],
)
def test_interleaving_deals_micro_batches_in_rounds_of_pp(more: str, expected: list[str]) -> None:
    """258 prompts are 645 samples a rank of dp 2, which is 43 micro-batches of 15, and pp is 2."""
    command = f"{MEGATRON} {ACTOR}megatron.{more}"
    if "ODD" in command:
        command = command.replace("mini_batch_size=256", "mini_batch_size=258").replace(
            "MICRO=4", "MICRO=15"
        )
        command = command.replace("train_batch_size=1024", "train_batch_size=1032")
    found = said(command.replace(" DP", "").replace(" ODD", ""))
    assert [code for code in found if code == "PAR203"] == expected


def test_packed_micro_batches_are_not_divided() -> None:
    packed = FSDP.replace("MICRO=4", "MICRO=3") + f" {ACTOR}use_dynamic_bsz=True"
    assert said(packed) == []
