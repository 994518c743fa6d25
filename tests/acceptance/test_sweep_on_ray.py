"""`parc sweep --ray` on a real Ray: one that loses a node mid-way gives the result that there is without Ray;
one that needs a token is answered at once, and solves with it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.support import ray_environment
from tests.support.paths import ROOT

OVER = ("--over", "train.global_batch=512,256,250,128,96,64,48,32", "--over", "cluster.nodes=1,2,4")
POINTS = 24
COMMAND = ("sweep", str(ROOT / "examples" / "gpt_125m.par"), *OVER, "--json")
LIMIT_SECONDS = 600


@pytest.fixture
def cluster(ray_variables: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with _cluster(ray_variables) as process:
        yield process


@contextmanager
def _cluster(variables: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    program = ROOT / "tests" / "acceptance" / "probes" / "ray_cluster.py"
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, program], stdin=pipe, stdout=pipe, text=True, env=variables
    )
    yield process
    process.communicate(timeout=LIMIT_SECONDS)


def test_a_cluster_with_tokens(tmp_path: Path) -> None:
    """What `ray start --head` begins where a token is, in the release that the extra installs."""
    own = {**ray_environment.variables(ray_environment.NEWEST), "HOME": str(tmp_path)}
    own.pop("RAY_AUTH_MODE", None)
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("0123456789abcdef" * 4)
    with_token = {**own, "RAY_AUTH_MODE": "token"}
    with _cluster(with_token) as cluster:
        assert cluster.stdout
        address = cluster.stdout.readline().strip()
        assert address, "the cluster did not start"
        few = ("sweep", COMMAND[1], "--over", "cluster.nodes=1,2", "--json")
        command = [sys.executable, "-m", "parc", *few]
        refused, solved, here = (
            subprocess.run(
                [*command, *ray], capture_output=True, text=True, env=env, timeout=LIMIT_SECONDS
            )
            for ray, env in ((("--ray", address), own), (("--ray", address), with_token), ((), own))
        )
    assert refused.returncode == 2 and refused.stderr.count("\n") <= 4
    assert "`export RAY_AUTH_MODE=token`" in refused.stderr
    assert solved.returncode == 0 and solved.stdout == here.stdout


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
