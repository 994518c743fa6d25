"""The health check of an emitted launcher with the real PyTorch: two nodes of two CPU processes, by gloo."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from parc.backends.deepspeed import BACKEND
from parc.compiler.plan import Layout
from parc.smoke.processes import free_port
from tests.acceptance.support.environments import BASE, environment
from tests.support.sample_plans import sample_plan

NVIDIA_SMI = """#!/bin/sh
case "$1" in
    *=index) echo 0; [ "${GONE:-}" = "$NODE_RANK" ] || echo 1 ;;
esac
"""
#: In place of the training script, which would need a framework.
TRAINING = 'print("training begins")\n'
LAYOUT = Layout(dp_shard=4, zero=2, micro_batch=1, microbatches=8, nodes=2)
#: What the check times inside a node, and the same with a node whose transfers take longer.
INSIDE = "fastest(lambda: dist.all_reduce(sent), torch)\n    dist.destroy"
SLOWED = INSIDE.replace(
    "dist.all_reduce(sent)",
    '(dist.all_reduce(sent), time.sleep(1.5 * (os.environ.get("SLOWED") == str(node))))',
)


def written(folder: Path) -> Path:
    """Less is sent than between GPUs, and the plan has a time for it that a busy CPU meets."""
    files = BACKEND.emit(sample_plan("deepspeed", layout=LAYOUT, gpus_per_node=2))
    check = files["deepspeed/health.py"]
    assert check.count("BYTES = 268435456") == check.count(INSIDE) == 1
    check = check.replace("BYTES = 268435456", "BYTES = 1048576").replace(INSIDE, SLOWED)
    check, times = re.subn(r'(?m)^(    "an .*": ).*,$', r"\g<1>0.2,", check)
    assert times == 3
    files |= {"deepspeed/health.py": check, "deepspeed/train.py": TRAINING}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    tools = folder / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text(NVIDIA_SMI)
    (tools / "nvidia-smi").chmod(0o755)
    return folder


def started(folder: Path, **more: str) -> list[tuple[int, str]]:
    """The status of each node, and what it said."""
    variables = environment(BASE).variables(
        RUN_DIR=str(folder / "run"),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(free_port()),
        NNODES="2",
        ANY_RELEASE="1",
        **more,
    )
    variables["PATH"] = f"{folder / 'tools'}{os.pathsep}{variables['PATH']}"
    command = ["bash", str(folder / "deepspeed" / "launch.sh")]
    nodes = [
        subprocess.Popen(
            command,
            env=variables | {"NODE_RANK": str(rank), "SLURMD_NODENAME": f"host{rank}"},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    said = [node.communicate(timeout=900)[0] for node in nodes]
    return [(node.returncode, text) for node, text in zip(nodes, said, strict=True)]


def test_sound_nodes_train_and_others_are_named(tmp_path: Path) -> None:
    folder = written(tmp_path)
    sound = started(folder)
    assert [status for status, _ in sound] == [0, 0], sound
    assert "training begins" in sound[0][1]
    assert not any("health check: node" in text for _, text in sound)
    slow = started(folder, SLOWED="1")
    assert [status for status, _ in slow] == [1, 1], slow
    assert "health check: node 1 (host1): an all-reduce in the node took" in slow[0][1]
    assert not any("node 0 (" in text or "training begins" in text for _, text in slow)
    gone = started(folder, GONE="1")
    assert [status for status, _ in gone] == [1, 1], gone
    assert "node 1 (host1): nvidia-smi finds 1 of 2 GPUs" in gone[1][1]
    assert not any("training begins" in text for _, text in gone)
