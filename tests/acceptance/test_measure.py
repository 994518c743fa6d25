"""parc measure runs its probe under PyTorch, on CPUs and over emulated nodes, and a job is planned on what it
wrote."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parc.calibrate.probe.batch import program_text
from parc.calibrate.probe.program.cases import key
from tests.acceptance.support import slurm_tools
from tests.acceptance.support.environments import BASE, environment
from tests.acceptance.support.slurm_cluster import ENDED, Cluster, cluster

JOB = """
import "site.par"
model tiny { layers = 4; hidden = 256; heads = 4; ffn = 1024; vocab = 32_000 }
cluster here from site { nodes = 2 }
train { seq_len = 256; global_batch = 16; steps = 100; attention = unfused }
target deepspeed { data = synthetic }
"""
#: For a machine many times slower than the one that needs a twentieth of it, and above the minutes given.
LIMIT_SECONDS = 1200
#: Of the whole probe: where the machine does other work, products may take no longer than their start.
ATTEMPTS = 3


def python() -> str:
    return str(environment(BASE).python)


def parc(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "parc", *words],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=LIMIT_SECONDS,
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def timed(path: Path) -> list[dict[str, Any]]:
    return [line for line in lines(path) if line.get("seconds")]


def planned_on(folder: Path) -> None:
    """A job takes the file, and is planned by it."""
    (folder / "job.par").write_text(JOB)
    ran = parc(folder, "plan", "job.par", "--json")
    assert ran.returncode == 0, ran.stderr
    (plan,) = json.loads(ran.stdout)["plans"]
    degrees = plan["layout"]
    data = degrees["dp_shard"] * degrees["dp_replicate"]
    assert degrees["tp"] * degrees["pp"] * degrees["cp"] * data == 4


def test_measured_here_and_planned_on(tmp_path: Path) -> None:
    words = ("measure", "--cpu", "--procs", "2", "--minutes", "9", "--python", python())
    expected = {"matmul_efficiency", "attention_efficiency", "memory_efficiency"}
    for _ in range(ATTEMPTS):
        ran = parc(tmp_path, *words, "-o", "site.par", "--json")
        assert ran.returncode in (0, 1), ran.stderr
        found = json.loads(ran.stdout)
        cases = found["cases"]
        assert found["written"] and cases["timed"] == cases["planned"], cases
        told = {each["name"] for each in found["numbers"]}
        if expected <= told:
            break
        (tmp_path / "site.rows.jsonl").unlink()
    assert expected | {"link_efficiency", "host_time"} <= told
    assert {each["kind"] for each in timed(tmp_path / "site.rows.jsonl")} >= {"training", "product"}
    assert len(found["models"]) == 4
    planned_on(tmp_path)


def test_it_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    words = ("measure", "--cpu", "--procs", "1", "--python", python(), "-o", "site.par")
    assert parc(tmp_path, *words, "--minutes", "0.01").returncode in (0, 1, 2)
    rows = tmp_path / "site.rows.jsonl"
    begun = len(timed(rows))
    with rows.open("a") as file:
        file.write('{"kind": "stre')
    assert parc(tmp_path, *words, "--minutes", "9").returncode in (0, 1)
    keys = [key(row) for row in timed(rows)]
    assert begun < len(keys) == len(set(keys)) == lines(rows)[0]["cases"]
    other = parc(tmp_path, *words[:2], "--procs", "2", *words[4:])
    assert other.returncode == 2 and "another machine (ranks 1, here 2)" in other.stderr
    assert other.stderr.count("another machine") == 1


def test_a_rank_that_dies_is_named_and_rows_are_kept(tmp_path: Path) -> None:
    program, rows = tmp_path / "probe.py", tmp_path / "rows.jsonl"
    program.write_text(program_text())
    words = [python(), str(program), str(rows), "--cpu", "--procs", "3", "--minutes", "5"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        wait_for_rows(rows, 3)
        os.kill(worker(process.pid, rank=1), signal.SIGKILL)
        _, said = process.communicate(timeout=LIMIT_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 1 and "rank 1 ended with status -9" in said
    assert "Traceback" not in said
    assert len(timed(rows)) >= 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_ends_parc_ends_its_probe(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C reaches the whole group; of a kill the probe learns by itself."""
    words = ["measure", "--cpu", "--procs", "2", "--python", python(), "-o", "site.par"]
    process = subprocess.Popen(
        [sys.executable, "-m", "parc", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    rows = tmp_path / "site.rows.jsonl"
    wait_for_rows(rows, 2)
    end = os.killpg if number == signal.SIGINT else os.kill
    end(process.pid, number)
    process.wait(LIMIT_SECONDS)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    limit = time.monotonic() + LIMIT_SECONDS
    while working_on(rows):
        assert time.monotonic() < limit, "the probe outlives parc"
        time.sleep(0.2)
    assert not (tmp_path / "site.par").exists() and timed(rows)


def working_on(rows: Path) -> list[str]:
    """Processes of a probe that writes to `rows`; their folder is its."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            place = os.readlink(process / "cwd")
        except OSError:
            continue
        if rows.name in words and place == str(rows.parent):
            found.append(words)
    return found


def wait_for_rows(path: Path, count: int) -> None:
    limit = time.monotonic() + LIMIT_SECONDS
    while not (path.exists() and path.read_text().count("\n") > count):
        assert time.monotonic() < limit, "the probe writes no rows"
        time.sleep(0.1)


def worker(parent: int, rank: int) -> int:
    """The process of a rank."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    mark = f"RANK={rank}".encode()
    (found,) = (
        int(child)
        for child in children
        if mark in Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
    )
    return found


def test_torchrun_starts_it_too(tmp_path: Path) -> None:
    program, rows = tmp_path / "probe.py", tmp_path / "rows.jsonl"
    program.write_text(program_text())
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(program)]
    variables = environment(BASE).variables()
    ran = subprocess.run(
        [python(), *words, str(rows), "--cpu", "--minutes", "0.05"],
        env=variables,
        text=True,
        capture_output=True,
        timeout=LIMIT_SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    assert all(len(row["seconds"]) == 2 for row in timed(rows)) and timed(rows)


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    slurm_tools.needs_root()
    slurm_tools.install()
    with cluster(tmp_path_factory.mktemp("cluster") / "c", nodes=2, gpus=2, cores=2) as made:
        yield made


def test_a_batch_job_measures_the_network(emulated: Cluster, tmp_path: Path) -> None:
    """Two nodes of two processes, as two GPUs each."""
    options = ("--nodes", "2", "--gpus-per-node", "2", "--minutes", "5", "--python", python())
    wrote = parc(tmp_path, "measure", *options, "-o", "site.par")
    assert wrote.returncode == 0, wrote.stderr
    variables = environment(BASE).variables(PROBE_ARGS="--cpu")
    kept = {name: value for name, value in variables.items() if not name.startswith("SLURM")}
    run = emulated.submit(tmp_path / "site.sbatch", tmp_path, **kept)
    assert run.wait_for(ENDED, LIMIT_SECONDS) == "COMPLETED", run.log
    read = parc(tmp_path, "measure", "--rows", "site.rows.jsonl", "-o", "site.par", "--json")
    assert read.returncode in (0, 1), read.stderr
    found = json.loads(read.stdout)
    assert (found["cluster"]["ranks"], found["cluster"]["nodes"]) == (4, 2)
    assert "network_efficiency" in {each["name"] for each in found["numbers"]}
    shapes = {
        (row["size"], row["stride"]) for row in timed(tmp_path / "site.rows.jsonl") if "size" in row
    }
    assert shapes == {(2, 1), (2, 2), (4, 1)}
    planned_on(tmp_path)
