"""The health check before the first step: GPUs by a stand-in for nvidia-smi, and slow nodes by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.health import expected
from parc.backends.megatron.options import Options
from parc.compiler.plan import Layout, Plan
from parc.dsl.job import Launch
from tests.support.recorded_scripts import run
from tests.support.sample_plans import H100, sample_plan

NODES = 4
LAYOUT = Layout(dp_shard=8 * NODES, zero=2, micro_batch=1, microbatches=2)
TWO = Layout(dp_shard=16, zero=2, micro_batch=1, microbatches=2, nodes=2)
ONE = Layout(dp_shard=8, zero=2, micro_batch=1, microbatches=2)
#: Answers as those of a node do whose GPUs are fine, save as the environment says.
NVIDIA_SMI = """#!/bin/sh
case "$1" in
    *=index) seq 0 "$((${COUNT:-8} - 1))" ;;
    *ecc*) echo 0; echo "${ERRORS:-0}"; echo "[N/A]" ;;
    *remapped_rows*) echo No; echo "${ROWS:-No}" ;;
    *clocks_event*) echo "Field is not a valid field to query."; exit 2 ;;
    *clocks_throttle*) echo "Not Active"; echo "${SLOWED:-Not Active}" ;;
esac
"""


def plan_of(layout: Layout, target: str = "deepspeed", launch: Launch | None = None) -> Plan:
    options = Options() if target == "megatron" else None
    return sample_plan(target, options, layout=layout, launch=launch)


def emitted(layout: Layout) -> str:
    return BACKENDS["deepspeed"].emit(plan_of(layout))["deepspeed/health.py"]


def looked(
    folder: Path, text: str, stand_in: str = NVIDIA_SMI, **environment: str
) -> subprocess.CompletedProcess[str]:
    """health.py under a Python without PyTorch, where it judges the node alone."""
    (folder / "health.py").write_text(text)
    smi = folder / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(stand_in)
    smi.chmod(0o755)
    path = f"{smi.parent}:{os.environ['PATH']}"
    command = [sys.executable, "-S", str(folder / "health.py"), "0", "127.0.0.1", "29500"]
    given = {"PATH": path, **environment}
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, None),
        ({"COUNT": "7"}, "nvidia-smi finds 7 of 8 GPUs"),
        ({"COUNT": "0"}, "nvidia-smi finds 0 of 8 GPUs"),
        ({"ERRORS": "3"}, "GPU 1 had 3 uncorrectable memory errors since its last reset"),
        ({"ROWS": "Yes"}, "GPU 1 has no spare memory for a row that failed"),
        ({"SLOWED": "Active"}, "GPU 1 is slowed down by its hardware"),
    ],
)
def test_a_broken_gpu_is_named(
    environment: dict[str, str], said: str | None, tmp_path: Path
) -> None:
    done = looked(tmp_path, emitted(ONE), **environment)
    assert done.returncode == (0 if said is None else 1)
    assert ("health check: node 0 (" in done.stderr) == (said is not None)
    assert said is None or said in done.stderr


def test_gpus_of_another_job_are_not_asked(tmp_path: Path) -> None:
    """nvidia-smi knows those that the job has by the same numbers."""
    stand_in = NVIDIA_SMI.replace("case", '[ "$3" = --id=4,5,6,7,8,9,10,11 ] || exit 9\ncase')
    visible = ",".join(map(str, range(4, 12)))
    done = looked(tmp_path, emitted(ONE), stand_in, CUDA_VISIBLE_DEVICES=visible)
    assert done.returncode == 0, done.stderr


def module() -> Any:
    made = ModuleType("health")
    exec(compile(emitted(LAYOUT), "health.py", "exec"), made.__dict__)
    return made


def test_a_slow_node_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Its GPUs among themselves, or its ports: slow by the plan and by what other nodes do."""
    health = module()
    inside, across, overall = health.EXPECTED.values()
    good = ("good", inside, across, overall)
    slow = ("weak", inside, 3 * across, overall)
    found = [good] * 8 + [good] * 7 + [slow] + [good] * 16
    (line,) = health.slow(found)
    assert line.startswith("node 1 (good): an exchange with another node took")
    hot = ("hot", 4 * inside, across, overall)
    (line,) = health.slow([good] * 24 + [hot] * 8)
    assert line.startswith("node 3 (hot): an all-reduce in the node took")
    assert capsys.readouterr().err == ""


def test_where_all_are_slow_the_plan_is_told_to_be_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    health = module()
    inside, across, overall = health.EXPECTED.values()
    assert health.slow([("any", inside, 3 * across, overall)] * 32) == []
    assert "an exchange with another node takes" in capsys.readouterr().err


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 7, 64])
def test_exchanges_meet(nodes: int) -> None:
    """In each round the partner of a node's partner is the node, and no node is left alone in both."""
    health = module()
    health.NODES = nodes
    rounds: list[dict[int, int]] = [{}, {}]
    for node in range(nodes):
        first, second = node ^ 1, ((node - 1) ^ 1) + 1
        second = second % nodes if nodes % 2 == 0 else second
        for index, other in enumerate((first, second)):
            if other in health.pairs(node):
                rounds[index][node] = other
        assert health.pairs(node) or nodes == 1
    for each in rounds:
        assert all(each[other] == node for node, other in each.items())


def test_the_plan_says_what_is_expected() -> None:
    """256 MiB at 400 Gb/s and 75 % of it: a bus bandwidth that no measurement of H100 contradicts by half."""
    seconds = expected(plan_of(LAYOUT))
    assert seconds["an exchange with another node"] == pytest.approx(2**28 / 37.5e9, rel=0.01)
    rate = 2 * 7 / 8 * 2**28 / seconds["an all-reduce in the node"]
    assert 0.5 * H100.nvlink < rate < 1.5 * H100.nvlink


def test_a_start_may_leave_it_out(tmp_path: Path) -> None:
    """A recorder stands in for Python and torchrun."""
    for path, text in BACKENDS["deepspeed"].emit(plan_of(TWO)).items():
        (tmp_path / "out" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / path).write_text(text)
    script = tmp_path / "out/deepspeed/launch.sh"
    (tmp_path / "with").mkdir()
    told = run(script, tmp_path / "with", ANY_RELEASE="1").told
    place = ("0", "node1", "29500")
    assert told["python3"][-4:] == (str(script.with_name("health.py")), *place)
    assert told["torchrun"]
    (tmp_path / "without").mkdir()
    told = run(script, tmp_path / "without", ANY_RELEASE="1", HEALTH_CHECK="0").told
    assert str(script.with_name("health.py")) not in told["python3"] and told["torchrun"]


@pytest.mark.parametrize("target", ["megatron", "torchtitan", "deepspeed"])
def test_a_job_may_leave_it_out(target: str) -> None:
    with_it = BACKENDS[target].emit(plan_of(ONE, target))
    assert f"{target}/health.py" in with_it
    assert 'python3 "$HERE/health.py"' in with_it[BACKENDS[target].entry]
    without = BACKENDS[target].emit(plan_of(ONE, target, Launch(health_check=False)))
    assert f"{target}/health.py" not in without
    assert "health" not in without[BACKENDS[target].entry]
