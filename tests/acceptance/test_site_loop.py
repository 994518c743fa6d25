"""docs/site.md as a person follows it, on CPUs: measure, plan, trials, calibrate, plan."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parc.calibrate.codes import UNSTEADY
from parc.calibrate.trial_files import LOG
from parc.calibrate.trials import STEPS
from tests.acceptance.support import slurm_tools
from tests.acceptance.support.environments import environment
from tests.acceptance.support.slurm_cluster import ENDED, Cluster, cluster

JOB = """
import "{site}.par"
model tiny {{ layers = 2; hidden = 128; heads = 4; ffn = 256; vocab = 512 }}
cluster here from {site} {{ nodes = 1 }}
train {{ seq_len = 64; global_batch = 8; steps = 1000 }}
goal {{ require pp == 1 and offload == none }}
target deepspeed {{ data = synthetic; adam = "torch" }}
{launch}
"""
#: For a machine several times slower than the one that needs a tenth of it.
LIMIT_SECONDS = 900
#: Of the trials, on a machine that does other work.
ATTEMPTS = 8
CALIBRATE = ("calibrate", "trials", "--job", "job.par", "-o")
#: Nodes as SLURM emulates them have two GPUs.
NODE = """
gpu cpu {
  arch = "cpu"; memory = 40 GiB; memory_bandwidth = 20 GB/s
  bf16 = 0.2 TFLOP/s; nvlink = 2 GB/s; nvlink_latency = 50 us
}
cluster site {
  gpu = cpu; nodes = 1; gpus_per_node = 2; network = 1 GB/s; node_memory = 16 GiB; cpu_cores = 2
}
"""


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "parc", *words, "--json"],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=LIMIT_SECONDS,
    )


def parc(folder: Path, *words: str) -> dict[str, Any]:
    ran = command(folder, *words)
    assert ran.returncode in (0, 1) and ran.stdout, ran.stderr
    assert "Traceback" not in ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def write_job(folder: Path, site: str, launch: str = "") -> None:
    (folder / "job.par").write_text(JOB.format(site=site, launch=launch))


def unsteady(folder: Path) -> set[Path]:
    """Logs of which `parc calibrate` says that steps have no steady time."""
    said = command(folder, *CALIBRATE, "tried.par").stderr
    complaints = "\n".join(line for line in said.splitlines() if UNSTEADY in line)
    return {folder / name / LOG for name in re.findall(r"\btrials/trial-\d", complaints)}


def run_trials(folder: Path) -> list[Path]:
    """All trials, and the log of each."""
    variables = environment("deepspeed").variables(DS_ACCELERATOR="cpu", ANY_RELEASE="1")
    ran = subprocess.run(
        ["trials/run.sh"],
        cwd=folder,
        env=variables,
        text=True,
        capture_output=True,
        timeout=LIMIT_SECONDS,
    )
    logs = [folder / f"trials/trial-{number}" / LOG for number in (1, 2, 3)]
    texts = [log.read_text() for log in logs]
    assert ran.returncode == 0, "\n".join([ran.stderr, *(text[-2000:] for text in texts)])
    assert all(f"step {STEPS}/{STEPS} " in text for text in texts)
    return logs


def run_and_calibrate(folder: Path) -> dict[str, Any]:
    """Trials are run again while other work on the machine leaves one of them no steady time, as the error
    asks; of a trial that had one the first such log stays."""
    steady: dict[Path, str] = {}
    for _ in range(ATTEMPTS):
        logs = run_trials(folder)
        for log, text in steady.items():
            log.write_text(text)
        again = unsteady(folder)
        steady = {log: log.read_text() for log in logs if log not in again}
        if not again:
            break
    assert not list(folder.rglob("checkpoints"))
    return parc(folder, *CALIBRATE, "mine.par")


def test_measure_plan_trials_calibrate_plan(tmp_path: Path) -> None:
    made = environment("deepspeed")
    words = ("--cpu", "--procs", "2", "--minutes", "2", "--python", str(made.python))
    assert parc(tmp_path, "measure", *words, "-o", "site.par")["written"]
    write_job(tmp_path, "site")
    (first,) = parc(tmp_path, "plan", "job.par")["plans"]
    assert first["measured"] is None
    found = parc(tmp_path, "trials", "job.par", "-n", "3", "-o", "trials")
    assert len(found["trials"]) == 3 and found["steps"] == STEPS
    assert found["trials"][0]["layout"] == first["layout"]

    calibrated = run_and_calibrate(tmp_path)
    assert calibrated["written"] and len(calibrated["runs"]) == 3
    before = [abs(run["error_before"]) for run in calibrated["runs"]]
    after = [abs(run["error_after"]) for run in calibrated["runs"]]
    assert sum(after) <= sum(before)
    write_job(tmp_path, "mine")
    (last,) = parc(tmp_path, "plan", "job.par")["plans"]
    assert last["measured"]["layouts"] == 3
    assert parc(tmp_path, *CALIBRATE, "mine.par")["written"] is False


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    slurm_tools.needs_root()
    slurm_tools.install()
    with cluster(tmp_path_factory.mktemp("cluster") / "c", nodes=1, gpus=2, cores=2) as made:
        yield made


def test_the_array_runs_a_trial_in_its_folder(emulated: Cluster, tmp_path: Path) -> None:
    (tmp_path / "site.par").write_text(NODE)
    write_job(
        tmp_path, "site", 'launch slurm { time = 30 min; exclusive = false; partition = "train" }'
    )
    parc(tmp_path, "trials", "job.par", "-n", "2", "-o", "trials")
    variables = environment("deepspeed").variables(DS_ACCELERATOR="cpu", ANY_RELEASE="1")
    kept = {name: value for name, value in variables.items() if not name.startswith("SLURM")}
    run = emulated.submit(tmp_path / "trials/trials.sbatch", tmp_path, "--array=2", **kept)
    ended = run.wait_for(ENDED, LIMIT_SECONDS)
    log = tmp_path / "trials/trial-2/run.log"
    assert ended == "COMPLETED", run.log + (log.read_text() if log.exists() else "")
    assert f"step {STEPS}/{STEPS} " in log.read_text()
    assert not (tmp_path / "trials/trial-1/run.log").exists()
