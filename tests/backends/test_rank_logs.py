"""Entry scripts under bash with a stand-in for torchrun: files of each rank, and what the job's log shows."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from parc.backends.megatron.options import Options
from parc.backends.rank_logs import rank_logs
from parc.backends.slurm.endings import endings
from parc.compiler.plan import Layout, Plan
from tests.support.sample_plans import sample_plan

#: Prints its options, and leaves the errors of two ranks where it is told to.
TORCHRUN = """#!/usr/bin/env bash
printf 'told: %s\\n' "$@"
for word; do [[ $word == --log-dir=* ]] && logs="${word#*=}"; done
for rank in 0 1; do mkdir -p "$logs/none_x/attempt_0/$rank"; done
: >"$logs/none_x/attempt_0/0/stderr.log"
echo "rank 1 is out of memory" >"$logs/none_x/attempt_0/1/stderr.log"
[[ -z ${PLANTED:-} ]] || cp -r "$PLANTED" "$logs/none_x/attempt_1"
exit "${TORCHRUN_ENDS:-0}"
"""
PIPED = Layout(pp=4, dp_shard=4, zero=1, micro_batch=1, microbatches=8, nodes=2)
FLAT = Layout(dp_shard=16, zero=2, micro_batch=1, microbatches=2, nodes=2)
ALONE = Layout(dp_shard=8, zero=2, micro_batch=1, microbatches=2)
ONE_GPU = Layout(micro_batch=1, microbatches=2)


def plan_of(target: str, layout: Layout) -> Plan:
    return sample_plan(target, Options() if target == "megatron" else None, layout=layout)


def started(plan: Plan, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    backend = BACKENDS[plan.target]
    for path, text in backend.emit(plan).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    command = folder / "bin" / "torchrun"
    command.parent.mkdir(exist_ok=True)
    command.write_text(TORCHRUN)
    command.chmod(0o755)
    given = {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "RUN_DIR": str(folder / "run"),
        "ANY_RELEASE": "1",
        **environment,
    }
    return subprocess.run(
        ["bash", str(folder / backend.entry)],
        env=given,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


def of_node(node: int, nodes: int) -> dict[str, str]:
    several = {"NNODES": str(nodes), "NODE_RANK": str(node), "MASTER_ADDR": "127.0.0.1"}
    return several if nodes > 1 else {}


@pytest.mark.parametrize(
    ("target", "layout", "node", "tee"),
    [
        # print_rank_last: the last rank has the losses.
        ("megatron", PIPED, 0, "0:3"),
        ("megatron", PIPED, 1, "7:3"),
        ("megatron", ALONE, 0, "0:3,7:3"),
        # Of 16 ranks in 4 stages, 12 is the first that knows the loss.
        ("torchtitan", PIPED, 0, "0:3"),
        ("torchtitan", PIPED, 1, "4:3"),
        ("torchtitan", ALONE, 0, "0:3"),
        ("deepspeed", FLAT, 0, "0:3"),
        ("deepspeed", FLAT, 1, "0"),
        ("deepspeed", ALONE, 0, "0:3"),
    ],
)
def test_the_log_shows_who_reports(
    target: str, layout: Layout, node: int, tee: str, tmp_path: Path
) -> None:
    done = started(
        plan_of(target, layout), tmp_path, SLURM_JOB_ID="71", **of_node(node, layout.nodes)
    )
    told = [line.removeprefix("told: ") for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert f"--tee={tee}" in told and "--redirects=3" in told
    assert f"--log-dir={tmp_path}/run/logs/71/node{node}" in told
    assert "out of memory" not in done.stdout + done.stderr


def test_a_restart_has_files_of_its_own(tmp_path: Path) -> None:
    plan = plan_of("torchtitan", ALONE)
    done = started(plan, tmp_path, SLURM_JOB_ID="71", SLURM_RESTART_COUNT="2")
    assert f"--log-dir={tmp_path}/run/logs/71.2/node0" in done.stdout


@pytest.mark.parametrize("target", ["torchtitan", "deepspeed"])
def test_a_failure_shows_the_errors_of_all_ranks(target: str, tmp_path: Path) -> None:
    done = started(plan_of(target, ALONE), tmp_path, TORCHRUN_ENDS="3")
    assert done.returncode == 3
    assert "rank 1 is out of memory" in done.stderr
    assert "/attempt_0/1/stderr.log <==" in done.stderr
    assert "/attempt_0/0/stderr.log" not in done.stderr


def test_what_a_start_is_judged_by_is_shown_of_every_rank(tmp_path: Path) -> None:
    """Behind it stacks as faulthandler and PyTorch print them, longer than what is shown of a rank."""
    of_programs = [each for each in endings() if each.kind in ("node", "network", "final", "early")]
    stacks = [f'Thread 0x{number:x}:\n  File "a.py", line {number} in run' for number in range(150)]
    frames = [f"frame #{number}: start_thread + 0x94" for number in range(100)]
    for rank, each in enumerate(of_programs):
        errors = tmp_path / "planted" / str(rank) / "stderr.log"
        errors.parent.mkdir(parents=True)
        errors.write_text("\n".join([each.example, *frames, *stacks, ""]))
    planted = str(tmp_path / "planted")
    done = started(plan_of("torchtitan", ALONE), tmp_path, TORCHRUN_ENDS="1", PLANTED=planted)
    for each in of_programs:
        found = subprocess.run(["grep", "-qE", each.pattern], input=done.stderr, text=True)
        assert found.returncode == 0, each.example
    assert "frame #" not in done.stderr and "Thread 0x" not in done.stderr


def test_nodes_of_many_gpus_show_all_ranks_where_torchrun_has_no_word_for_the_last() -> None:
    plan = sample_plan("megatron", Options(), layout=Layout(dp_shard=16, micro_batch=1))
    cluster = plan.job.cluster.model_copy(update={"gpus_per_node": 16})
    wide = plan.model_copy(update={"job": plan.job.model_copy(update={"cluster": cluster})})
    assert rank_logs(wide, [0, 15], "rank 0 and rank 15")["tee"] == "3"
    assert rank_logs(wide, [0, 9], "rank 0 and rank 9")["tee"] == "0:3,9:3"


def test_one_gpu_is_shown_once(tmp_path: Path) -> None:
    done = started(plan_of("megatron", ONE_GPU), tmp_path)
    assert "told: --tee=0:3\n" in done.stdout
