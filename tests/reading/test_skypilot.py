"""Tasks of SkyPilot as people write them: nodes, GPUs and the commands in `run`, at their lines."""

from __future__ import annotations

import pytest

from parc.backends.launch_files import read_jobs
from parc.lint.discovery import looks_like_launch
from parc.reading.facts import LaunchConfig, Unknown

TASK = """resources:
  accelerators: {H100: 8}
num_nodes: 4
workdir: code
envs:
  TP: "4"
run: |
  MASTER=$(echo "$SKYPILOT_NODE_IPS" | head -n1)
  torchrun --nnodes $SKYPILOT_NUM_NODES --nproc-per-node $SKYPILOT_NUM_GPUS_PER_NODE \\
    --node-rank $SKYPILOT_NODE_RANK --master-addr $MASTER pretrain_gpt.py \\
    --tensor-model-parallel-size $TP --num-layers 32 --hidden-size 4096
"""


def jobs(text: str, **texts: str) -> list[LaunchConfig]:
    return read_jobs({"sky/task.yaml": text, **texts})


def test_its_run_lines_are_followed_with_its_variables() -> None:
    (job,) = jobs(TASK)
    facts = job.values()
    assert str(job.kind) == "skypilot+megatron"
    assert {name: facts[name] for name in ("nodes", "gpus_per_node", "gpus", "tp")} == {
        "nodes": 4,
        "gpus_per_node": 8,
        "gpus": 32,
        "tp": 4,
    }
    assert (facts["pods"], facts["gpus_per_pod"]) == (4, 8)
    tp = next(fact for fact in job.facts if fact.name == "tp")
    assert (tp.path, tp.line) == ("sky/task.yaml", 6)


@pytest.mark.parametrize(
    ("accelerators", "gpus"),
    [("H100:8", 8), ("A100-80GB", 1), ("{A100: 4}", 4)],
)
def test_gpus_of_a_node(accelerators: str, gpus: int) -> None:
    (job,) = jobs(TASK.replace("{H100: 8}", accelerators))
    assert job.values()["gpus_per_pod"] == gpus


@pytest.mark.parametrize("accelerators", ["[H100:8, H200:8]", "{H100: 8, A100: 8}", "H100:many"])
def test_a_choice_of_gpus_is_unknown(accelerators: str) -> None:
    (job,) = jobs(TASK.replace("{H100: 8}", accelerators))
    assert isinstance(job.values()["gpus_per_pod"], Unknown)


@pytest.mark.parametrize(
    ("called", "mounted"),
    [
        ("code/train.sh", "workdir: ."),
        ("~/sky_workdir/train.sh", "workdir: code"),
        ("/opt/ours/train.sh", "file_mounts: {/opt/ours: code, /data: s3://corpus}"),
    ],
)
def test_scripts_that_it_brings_along_are_followed(called: str, mounted: str) -> None:
    script = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 64\n"
    task = f"resources: {{}}\nnum_nodes: 1\n{mounted}\nrun: bash {called}\n"
    task = task.replace("{}", "\n  accelerators: H100:8")
    found = jobs(task, **{"code/train.sh": script})
    (job,) = (job for job in found if str(job.kind) == "skypilot+megatron")
    assert job.values()["layers"] == 8
    assert set(job.texts) == {"sky/task.yaml", "code/train.sh"}


def test_only_tasks_with_gpus_are_launch_files() -> None:
    assert looks_like_launch("task.yaml", TASK)
    assert not looks_like_launch(
        "task.yaml", TASK.replace("  accelerators: {H100: 8}", "  cpus: 2")
    )
    assert not looks_like_launch("task.yaml", TASK.replace("run: |", "steps: |"))
    assert not looks_like_launch("task.yaml", TASK.replace("code", "{{ code }}"))


def test_what_is_no_yaml_is_unread() -> None:
    (job,) = jobs(f"{TASK}a: [b\n")
    assert str(job.kind) == "skypilot" and job.unread
