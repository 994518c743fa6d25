"""Emitted launchers under the real torchrun: files of each rank, and a log that shows one and all errors."""

from __future__ import annotations

import subprocess
from pathlib import Path

from parc.backends.deepspeed import BACKEND
from parc.compiler.plan import Layout
from parc.smoke.processes import free_port
from tests.acceptance.support.environments import BASE, environment
from tests.support.sample_plans import sample_plan

#: In place of the training script, which would need a framework.
RANK = """
import os, sys
rank = os.environ["RANK"]
print(f"step {rank} of rank {rank}")
print(f"warning of rank {rank}", file=sys.stderr)
if os.environ.get("PLANTED") == rank:
    raise MemoryError(f"rank {rank} has none left")
"""
TWO = Layout(dp_shard=2, zero=2, micro_batch=1, microbatches=2)


def start(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    variables = environment(BASE).variables(
        RUN_DIR=str(folder / "run"), MASTER_PORT=str(free_port()), ANY_RELEASE="1", **more
    )
    command = ["bash", str(folder / "deepspeed" / "launch.sh")]
    return subprocess.run(
        command, env=variables, cwd=folder, capture_output=True, text=True, timeout=900
    )


def written(folder: Path, start: str) -> dict[str, str]:
    """What each rank said in a start, by `rank/stream`."""
    found = (folder / "run" / "logs" / start / "node0").glob("*/attempt_0/*/*.log")
    return {f"{each.parent.name}/{each.stem}": each.read_text() for each in found}


def test_each_rank_has_its_files_and_the_log_shows_one_and_all_errors(tmp_path: Path) -> None:
    for path, text in BACKEND.emit(sample_plan("deepspeed", layout=TWO)).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "deepspeed" / "train.py").write_text(RANK)
    good = start(tmp_path, SLURM_JOB_ID="71")
    assert good.returncode == 0, good.stderr
    announced, *said = good.stdout.splitlines()
    assert announced.startswith("parc run ") and said == ["[default0]:step 0 of rank 0"]
    assert "warning of rank 0" in good.stderr and "warning of rank 1" not in good.stderr
    first = written(tmp_path, "71")
    assert first["1/stdout"] == "step 1 of rank 1\n"
    assert first["1/stderr"] == "warning of rank 1\n"
    bad = start(tmp_path, SLURM_JOB_ID="71", SLURM_RESTART_COUNT="1", PLANTED="1")
    assert bad.returncode == 1
    assert "MemoryError: rank 1 has none left" in bad.stderr
    assert "MemoryError" in written(tmp_path, "71.1")["1/stderr"]
    assert written(tmp_path, "71") == first
