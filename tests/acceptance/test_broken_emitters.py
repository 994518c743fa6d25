"""An emitter that writes one thing wrongly is found out: by the framework's own words, for each change."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import test_deepspeed_accepts, test_megatron_accepts, test_torchtitan_accepts
from tests.acceptance.support import slurm_tools
from tests.acceptance.support.generated_jobs import Generated, compile_text
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.support.slurm_shapes import controller, kind_of

JOB = """
model small {{ layers = 8; hidden = 1024; heads = 16; kv_heads = 8; ffn = 4096; vocab = 32000 }}
cluster pod from std.dgx_h100 {{ nodes = 2 }}
train {{ seq_len = 2048; global_batch = 64; steps = 1000; warmup = 100 }}
goal {{ {goal} }}
target {target} {{ {options} }}
launch slurm {{ time = 4 h; partition = "train" }}
"""
GOALS = {
    "megatron": "require tp == 2; require pp == 2; require zero == 1; require micro_batch == 1",
    "deepspeed": "require zero == 2; require micro_batch == 1; require offload == none",
    "torchtitan": "require tp == 2; require pp == 2; require vpp == 1; require micro_batch == 1",
}
GOALS["torchtitan-0.3"] = GOALS["torchtitan"]
#: File, what is changed in it, into what, and the framework's answer.
CHANGES = {
    "megatron": {
        "name": ("pretrain.sh", "--sequence-parallel", "--sequence-paralel", "unrecognized arguments"),
        "degree": (
            "pretrain.sh",
            "--tensor-model-parallel-size 2",
            "--tensor-model-parallel-size 3",
            "is not divisible by total_model_size",
        ),
        "batch": ("pretrain.sh", "--global-batch-size 64", "--global-batch-size 63", "divisible"),
        "left out": ("pretrain.sh", "export CUDA_DEVICE_MAX_CONNECTIONS=1", "", "CUDA_DEVICE_MAX"),
        "value": ("pretrain.sh", "RMSNorm", "RmsNorm", "invalid choice"),
    },
    "deepspeed": {
        "name": ("ds_config.json", '"reduce_scatter"', '"reduce_scater"', "Extra inputs"),
        "value": ("ds_config.json", '"stage": 2', '"stage": 4', "Input should be"),
        "batch": ("ds_config.json", '"train_batch_size": 64', '"train_batch_size": 60', "60 != 1 * 4 * 16"),
        "optimizer": ("ds_config.json", '"AdamW"', '"Adamm"', "not a supported DeepSpeed Optimizer"),
    },
    "torchtitan": {
        "name": ("train.toml", "tensor_parallel_degree", "tensor_paralel_degree", "Invalid field names"),
        "degree": (
            "train.toml",
            "tensor_parallel_degree = 2",
            "tensor_parallel_degree = 4",
            "Invalid parallel dims",
        ),
        "schedule": ("train.toml", '"1F1B"', '"1F1BB"', "Unknown schedule name"),
        "batch": ("train.toml", "global_batch_size = 64", "global_batch_size = 63", "must be multiple"),
        "flavor": ("parc_model.py", "n_layers=", "layers=", "unexpected keyword argument"),
    },
    "torchtitan-0.3": {
        "name": ("parc_job.py", "tensor_parallel_degree", "tensor_paralel_degree", "unexpected keyword"),
        "degree": (
            "parc_job.py",
            "tensor_parallel_degree=2",
            "tensor_parallel_degree=4",
            "Invalid parallel dims",
        ),
        "schedule": ("parc_job.py", '"1F1B"', '"1F1BB"', "Unknown schedule name"),
        "batch": ("parc_job.py", "global_batch_size=64", "global_batch_size=63", "must be multiple"),
        "graphs": ("parc_job.py", "disable_cuda_graphs=True", "disable_cuda_graphs=False", "graphs do not"),
        "size": ("parc_job.py", "dim=HIDDEN", "width=HIDDEN", "unexpected keyword argument"),
    },
    "slurm": {
        "shape": ("megatron.sbatch", "--nodes=2", "--nodes=3", "node configuration is not available"),
        "gpus": ("megatron.sbatch", "--gpus-per-node=8", "--gpus-per-node=9", "not available"),
        "name": ("megatron.sbatch", "--exclusive", "--exclusiv-nodes", "unrecognized option"),
        "value": ("megatron.sbatch", "--time=0-04:00:00", "--time=4h", "Invalid --time"),
        "signal": ("megatron.sbatch", "B:USR1@600", "B:USR9@600", "Invalid --signal"),
    },
}  # fmt: skip
PROBES = {
    "megatron": ("megatron", "megatron_probe"),
    "deepspeed": ("deepspeed", "deepspeed_probe"),
    "torchtitan": ("torchtitan-0.2.2", "torchtitan_probe"),
    "torchtitan-0.3": ("torchtitan-0.3.0", "torchtitan_python_probe"),
}


def sound(name: str) -> Generated:
    """A job that compiles; the name of its target may end in a version."""
    target, _, version = name.partition("-")
    options = f'version = "{version}"' if version else ""
    text = JOB.format(target=target, goal=GOALS[name], options=options)
    found = compile_text(text, "small")
    assert found.plan is not None, found.complaints
    return found


def broken(job: Generated, name: str, change: tuple[str, str, str, str]) -> Generated:
    """The job with one text changed in one of its files."""
    file, before, after, _ = change
    (path,) = (path for path in job.files if path.endswith(file))
    text = job.files[path]
    assert len(re.findall(re.escape(before), text)) >= 1, f"{path} has no {before}"
    return replace(job, name=name, files={**job.files, path: text.replace(before, after, 1)})


def cases(target: str, job: Generated, folder: Path) -> list[dict[str, Any]]:
    if target == "megatron":
        return [test_megatron_accepts.case_of(job, folder, build=False)]
    if target == "deepspeed":
        return test_deepspeed_accepts.cases_of(job, folder)[:1]
    return test_torchtitan_accepts.cases_of(job, folder)[:1]


@pytest.mark.parametrize("target", PROBES)
def test_a_framework_finds_each_change(target: str, tmp_path: Path) -> None:
    job = sound(target)
    jobs = [job, *(broken(job, name, change) for name, change in CHANGES[target].items())]
    made = [case for each in jobs for case in cases(target, each, tmp_path)]
    first, *answers = probe(*PROBES[target], made, tmp_path)
    assert first["stage"] == "accepted", first
    for (name, change), answer in zip(CHANGES[target].items(), answers, strict=True):
        assert change[3] in answer.get("error", ""), (name, answer)


def test_a_key_that_nothing_reads_is_found(tmp_path: Path) -> None:
    """DeepSpeed ignores an unknown key at the top in silence."""
    change = ("ds_config.json", '"gradient_clipping"', '"grad_clip"', "")
    job = broken(sound("deepspeed"), "silent", change)
    (answer,) = probe(*PROBES["deepspeed"], cases("deepspeed", job, tmp_path), tmp_path)
    assert answer["stage"] == "accepted"
    assert answer["unread"] == ["grad_clip"]


def test_slurm_finds_each_change(tmp_path: Path) -> None:
    slurm_tools.needs_root()
    slurm_tools.install()
    job = sound("megatron")
    assert job.plan is not None
    with controller(kind_of(job.plan), 2, tmp_path / "cluster") as made:
        for name, change in CHANGES["slurm"].items():
            folder = write(broken(job, name, change).files, tmp_path / name)
            taken, said = made.accepts(folder / "slurm" / "megatron.sbatch", "n[1-2]")
            assert not taken, name
            assert change[3] in said, (name, said)
