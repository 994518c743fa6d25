"""What a document types without showing what it prints: each `parc` command is run where a reader would be.

That folder has a job, its launch files and a model of Hugging Face. Commands that need logs of runs, a
framework or GPUs have tests of their own, named here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.test_fences import SHELL
from tests.support import simulated_logs
from tests.support.paths import ROOT

#: What begins a command -> the test that runs it, with what it needs.
ELSEWHERE = {
    "parc smoke": "tests/acceptance/test_smoke_torchtitan.py",
    "parc measure": "tests/acceptance/test_measure.py",
    "parc calibrate": "tests/calibrate/test_logs.py",
}
TYPED = dict.fromkeys(
    line for _, line in SHELL if line.startswith("parc ") and not line.startswith(tuple(ELSEWHERE))
)
#: A script that takes its size and its nodes from who starts it.
STARTED = """\
#!/bin/bash
torchrun --nproc-per-node "$3" --nnodes "${NNODES:-1}" pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --train-iters 10 \\
    --micro-batch-size 1 --global-batch-size 128 --tensor-model-parallel-size "$2" --save "$1"
"""
BATCH = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --time=4:00:00
srun bash pretrain.sh
"""
#: One that names GPUs, of which `--detect` tells.
NVIDIA_SMI = """\
#!/bin/sh
for _ in 1 2 3 4 5 6 7 8; do echo 'NVIDIA H100 80GB HBM3, 81559'; done
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder before the first command."""
    folder = tmp_path_factory.mktemp("reader")
    model = folder / "Llama-3.1-8B"
    model.mkdir()
    shutil.copy(ROOT / "tests/cases/huggingface/llama_3_1_8b.json", model / "config.json")
    (folder / "run.sh").write_text(STARTED)
    job = folder / "job.par"
    job.write_text(simulated_logs.JOB)
    done = subprocess.run(
        [sys.executable, "-m", "parc", "compile", "job.par", "-o", "out"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for path in ("megatron/pretrain.sh", "deepspeed/ds_config.json"):
        shutil.copy(folder / "out" / path, folder)
    (folder / "job.sbatch").write_text(BATCH)
    shutil.copy(folder / "pretrain.sh", folder / "train.sh")
    return folder


@pytest.mark.parametrize("line", TYPED)
def test_a_typed_command_runs(line: str, written: Path, tmp_path: Path) -> None:
    """It ends with 0, or with 1 where lint has findings; `-o` writes what it names."""
    folder, tools = tmp_path / "reader", tmp_path / "bin"
    shutil.copytree(written, folder)
    tools.mkdir()
    (tools / "nvidia-smi").write_text(NVIDIA_SMI)
    (tools / "nvidia-smi").chmod(0o755)
    words = line.split()[1:]
    output = words[words.index("-o") + 1] if "-o" in words else ""
    if words[0] in ("init", "import"):
        (folder / output).unlink(missing_ok=True)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert done.returncode in ((0, 1) if words[0] == "lint" else (0,)), said
    assert said.strip() or output
    assert not output or (folder / output).exists()


def test_what_runs_elsewhere_is_typed_and_tested_there() -> None:
    for begin, test in ELSEWHERE.items():
        assert any(line.startswith(begin) for _, line in SHELL), begin
        assert begin.split()[1] in (ROOT / test).read_text(), test
