"""`parc sweep --ray` on a real Ray that loses a node mid-way: the result is the one without Ray."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

OVER = ("--over", "train.global_batch=512,256,250,128,96,64,48,32", "--over", "cluster.nodes=1,2,4")
POINTS = 24
COMMAND = ("sweep", str(ROOT / "examples" / "gpt_125m.par"), *OVER, "--json")
LIMIT_SECONDS = 600


@pytest.fixture
def cluster(ray_variables: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    program = ROOT / "tests" / "acceptance" / "probes" / "ray_cluster.py"
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, program], stdin=pipe, stdout=pipe, text=True, env=ray_variables
    )
    yield process
    process.communicate(timeout=60)


def test_a_lost_node_changes_nothing(
    ray_variables: dict[str, str], cluster: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert cluster.stdout
    address = cluster.stdout.readline().strip()
    assert address, "the cluster did not start"
    parc = [sys.executable, "-m", "parc", *COMMAND]
    kept = tmp_path / "kept" / "sweep.jsonl"
    pipe = subprocess.PIPE
    on_ray = subprocess.Popen(
        [*parc, "--ray", address, "-o", str(kept.parent)], stdout=pipe, text=True, env=ray_variables
    )
    _wait_for(kept, rows=1)
    _tell(cluster, "grow", "grown")
    grown = _rows(kept)
    _wait_for(kept, rows=grown + 6)
    _tell(cluster, "lose", "lost")
    assert grown < _rows(kept) < POINTS, "the node was lost before or after the sweep"
    out, _ = on_ray.communicate(timeout=LIMIT_SECONDS)
    here = subprocess.run(parc, capture_output=True, text=True, check=True)
    assert on_ray.returncode == 0 and out == here.stdout


def _tell(cluster: subprocess.Popen[str], order: str, answer: str) -> None:
    assert cluster.stdin and cluster.stdout
    cluster.stdin.write(f"{order}\n")
    cluster.stdin.flush()
    assert cluster.stdout.readline() == f"{answer}\n"


def _wait_for(kept: Path, rows: int) -> None:
    limit = time.monotonic() + LIMIT_SECONDS
    while _rows(kept) < rows and time.monotonic() < limit:
        time.sleep(0.1)


def _rows(kept: Path) -> int:
    """Points that are done: the first line is the head."""
    return kept.read_text().count("\n") - 1 if kept.exists() else 0
