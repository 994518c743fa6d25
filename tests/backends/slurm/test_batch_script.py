"""The SLURM launcher: directives, refusals, reading back, and the script run against stand-ins for srun."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from parc.backends.slurm import LAUNCHER
from parc.backends.slurm.options import segment_nodes, time_text
from parc.backends.slurm.read import seconds_from
from parc.compiler.plan import Layout, Plan
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Launch
from tests.support.sample_plans import B200, DP8, sample_plan

ENTRY = "megatron/pretrain.sh"
TWO_NODES = Layout(tp=8, dp_shard=2, zero=1, microbatches=16)
LAUNCHES = {
    "bare": Launch(),
    "full": Launch(
        job_name="run",
        partition="2026",
        account="llm",
        qos="high",
        constraint="ib&nvme",
        reservation="week",
        time=172_800.0,
        signal=900.0,
        requeue=5,
        gpu_request="gres",
        gpu_type="h100",
        container="/images/train.sqsh",
        mounts="/data:/data",
        modules=("cuda/12.8",),
        setup=('export HF_HOME="$HOME/hf"',),
        extra={"exclude": "n[1-2]", "comment": "a run", "mem": False, "cpus_per_task": 48},
    ),
    "plain node": Launch(exclusive=False, signal=0.0, requeue=0, extra={"gpus-per-node": False}),
}


def plan_with(launch: Launch, layout: Layout = TWO_NODES) -> Plan:
    return sample_plan("megatron", layout=layout, launch=launch)


def script(launch: Launch, layout: Layout = TWO_NODES) -> str:
    return LAUNCHER.emit(plan_with(launch, layout), ENTRY)["slurm/megatron.sbatch"]


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_reading_gives_the_facts_back(launch: Launch) -> None:
    plan = plan_with(launch)
    config = LAUNCHER.read(LAUNCHER.emit(plan, ENTRY))
    assert config.values() == LAUNCHER.facts(plan)
    assert config.unread == ()


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_directives_stand_before_the_first_command(launch: Launch) -> None:
    lines = script(launch).splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    first_command = next(n for n, line in enumerate(lines) if line and not line.startswith("#"))
    assert all("#SBATCH" not in line for line in lines[first_command:])
    directives = [line for line in lines[:first_command] if line.startswith("#SBATCH")]
    assert "#SBATCH --nodes=2" in directives
    assert all(re.fullmatch(r'#SBATCH --[a-z-]+(=("[^"]*"|\S+))?', line) for line in directives)


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_the_script_is_clean_bash(launch: Launch, tmp_path: Path) -> None:
    path = tmp_path / "job.sbatch"
    path.write_text(script(launch))
    subprocess.run(["bash", "-n", path], check=True)
    subprocess.run(["shellcheck", "--severity=warning", "--shell=bash", path], check=True)


def test_the_site_has_the_last_word() -> None:
    text = script(LAUNCHES["full"])
    assert "#SBATCH --gres=gpu:h100:8" in text
    assert '#SBATCH --comment="a run"' in text
    assert "#SBATCH --cpus-per-task=48" in text
    assert "--mem" not in text
    assert "srun --export=ALL" in text and '--container-image="/images/train.sqsh"' in text
    assert "#SBATCH --container" not in text
    bare = script(LAUNCHES["plain node"])
    assert "--exclusive" not in bare and "--signal" not in bare and "GPUS_ON_NODE" not in bare
    assert "#SBATCH --no-requeue" in bare


def test_a_node_of_its_own_is_taken_with_the_cores_that_the_site_gives() -> None:
    whole, shared = script(Launch()), script(Launch(exclusive=False))
    assert "#SBATCH --exclusive" in whole and "#SBATCH --cpus-per-task" not in whole
    assert '--cpus-per-task="$SLURM_CPUS_ON_NODE"' in whole
    assert "#SBATCH --cpus-per-task=96" in shared
    assert '--cpus-per-task="$SLURM_CPUS_PER_TASK"' in shared


@pytest.mark.parametrize(
    ("launch", "code", "says"),
    [
        (Launch(time=600.0, signal=600.0), "PAR622", "signal 600 s before the end of 600 s"),
        (Launch(signal=70_000.0), "PAR622", "65,535"),
        (Launch(segment=3), "PAR621", "segment 3 does not divide 2 nodes"),
        (Launch(extra={"nodes": 4}), "PAR623", "`nodes`"),
        (Launch(extra={"gres": "gpu:4"}), "PAR623", "`gres`"),
        (Launch(extra={"p": "x"}), "PAR624", "`p` is not the long name"),
        (Launch(extra={"container-image": "x"}), "PAR624", "belongs to srun"),
        (Launch(partition="$P"), "PAR624", "does not expand variables"),
        (Launch(account=""), "PAR624", "`account` is empty"),
        (Launch(extra={"comment": "a\nb"}), "PAR624", "control character"),
        (Launch(setup=("true", "module purge\r")), "PAR624", "CR LF"),
        (Launch(setup=("echo a\r\necho b",)), "PAR624", "CR LF"),
    ],
)
def test_what_sbatch_would_refuse_is_a_diagnostic(launch: Launch, code: str, says: str) -> None:
    with pytest.raises(JobError) as caught:
        script(launch)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]
    assert says in caught.value.diagnostics[0].message


def test_late_directives_are_unread() -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=2\necho\n#SBATCH --nodes=4\n"
    config = LAUNCHER.read({"a.sbatch": text})
    assert config.values() == {"nodes": 2}
    assert [(unread.path, unread.line) for unread in config.unread] == [("a.sbatch", 4)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("24:00", 1440), ("90", 5400), ("2-00", 172_800), ("1-2:3:4", 93_784), ("1:00:00", 3600)],
)
def test_times(text: str, seconds: int) -> None:
    assert seconds_from(text) == seconds
    assert seconds_from(time_text(seconds)) == seconds


@pytest.mark.parametrize(
    ("layout", "nodes"),
    [
        (Layout(ep=32, dp_shard=64, nodes=16), 8),
        (Layout(tp=8, dp_shard=8, nodes=16), 2),
        (Layout(tp=4, dp_shard=16, nodes=16), None),
        (Layout(ep=64, dp_shard=96, nodes=24), 12),
        (Layout(tp=3, dp_shard=16, nodes=12), 3),
        (Layout(tp=4, cp=3, dp_shard=12, nodes=36), 3),
        (Layout(ep=16, dp_shard=144, nodes=36), 18),
        (Layout(ep=16, dp_shard=128, nodes=32), 4),
    ],
)
def test_segment_holds_the_fast_groups_of_an_nvl72(layout: Layout, nodes: int | None) -> None:
    assert segment_nodes(layout, gpus_per_node=4, domain=72) == nodes
    assert segment_nodes(layout, gpus_per_node=8, domain=8) is None


def test_a_short_wall_time_is_said() -> None:
    text = script(Launch(time=172_800.0))
    assert ": about 123 starts of 2-00:00:00.\n" in text
    never = script(Launch(time=172_800.0, requeue=0))
    assert "about 123 starts of 2-00:00:00, and `requeue = 0` allows one." in never
    assert "starts" not in script(Launch(time=365 * 86_400.0)).split("#SBATCH")[0]


STANDINS = {
    "scontrol": r"""
case "$*" in
"show hostnames "*) printf '%s\n' n7 n9 ;;
"show job "*) echo "   Command=$SUBMITTED --data /x/y" ;;
requeue*) echo "$*" >>"$LOG" ;;
esac""",
    # It ends with the ranks or before them: the script may hear of the end first, or of the signal.
    "scancel": r"""
echo "scancel $*" >>"$LOG"
ranks=$(sed "s/^/-/" "$LOG.pids")
kill -TERM -- $ranks
[[ $ENDS == first ]] && exit
while kill -0 -- $ranks 2>/dev/null; do sleep 0.02; done
sleep 0.2""",
    "srun": r"""
while [[ $1 == --* ]]; do shift; done
for node in 0 1; do
    SLURM_NODEID=$node setsid "$@" & # SLURM signals all processes of a task
    echo $! >>"$LOG.pids"
done
wait -n; first=$?
wait; exit $first""",
}
WORKER = """#!/usr/bin/env bash
echo "rank $NODE_RANK of $NNODES at $MASTER_ADDR:$MASTER_PORT $*" >>"$LOG"
[[ $MODE == fail ]] && exit 7
[[ $MODE == ended ]] && kill -TERM $$
[[ $MODE == ok ]] && exit 0
trap 'echo "saved $NODE_RANK" >>"$LOG"; exit 1' TERM
while :; do sleep 0.05; done
"""


class Run:
    """The emitted script under stand-ins for srun, scontrol and scancel."""

    def __init__(self, folder: Path, mode: str, **settings: str):
        self.log = folder / "log"
        for name, body in STANDINS.items():
            self._write(folder / "bin" / name, f"#!/usr/bin/env bash\n{body}\n")
        self._write(folder / "out" / ENTRY, WORKER)
        for path, text in LAUNCHER.emit(plan_with(Launch(requeue=2)), ENTRY).items():
            self._write(folder / "out" / path, text)
        job = folder / "out" / "slurm" / "megatron.sbatch"
        environment = {
            **os.environ,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "LOG": str(self.log),
            "MODE": mode,
            "ENDS": "last",
            "SUBMITTED": str(job),
            "SLURM_JOB_ID": "1234567",
            "SLURM_JOB_NAME": "run",
            "SLURM_JOB_NODELIST": "n[7,9]",
            "SLURM_NNODES": "2",
            "SLURM_GPUS_ON_NODE": "8",
            "SLURM_CPUS_ON_NODE": "96",
            "SLURM_SUBMIT_DIR": str(folder),
            **settings,
        }
        self.process = subprocess.Popen(
            ["bash", job, "--lr", "a b"], env=environment, stderr=subprocess.PIPE, text=True
        )

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def wait_for_ranks(self) -> None:
        deadline = time.monotonic() + 60
        while len(self.lines()) < 2:
            assert time.monotonic() < deadline, "the ranks have not started"
            time.sleep(0.05)
        time.sleep(0.2)

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors


def test_every_node_gets_its_rank_and_one_meeting_point(tmp_path: Path) -> None:
    run = Run(tmp_path, "ok")
    assert run.end()[0] == 0
    expected = [f"rank {rank} of 2 at n7:24567 --lr a b" for rank in (0, 1)]
    assert sorted(run.lines()) == expected


def test_a_failure_keeps_its_code_and_is_requeued(tmp_path: Path) -> None:
    run = Run(tmp_path, "fail")
    assert run.end()[0] == 7
    assert "requeue 1234567" in run.lines()


def test_a_task_that_term_ended_hides_no_failure(tmp_path: Path) -> None:
    """srun answers with the highest status of all tasks: theirs, which it ended itself, is 1 and not 143."""
    assert Run(tmp_path, "ended").end()[0] == 1


@pytest.mark.parametrize("ends", ["first", "last"])
def test_the_warning_signal_saves_and_requeues(tmp_path: Path, ends: str) -> None:
    run = Run(tmp_path, "loop", ENDS=ends)
    run.wait_for_ranks()
    run.process.send_signal(signal.SIGUSR1)
    code, errors = run.end()
    assert code == 1 and "asking every rank for a last checkpoint" in errors
    assert sorted(run.lines()[2:]) == [
        "requeue 1234567",
        "saved 0",
        "saved 1",
        "scancel --signal=TERM 1234567",
    ]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"SLURM_NNODES": "3"}, "the layout needs 2 nodes, SLURM gave 3"),
        ({"SLURM_GPUS_ON_NODE": "4"}, "the layout needs 8 GPUs on each node, SLURM gave 4"),
        ({"PARC_OUT": "/nowhere"}, "no megatron/pretrain.sh in /nowhere: set PARC_OUT"),
        ({"SUBMITTED": "(null)"}, "set PARC_OUT"),
    ],
)
def test_a_wrong_start_stops_before_the_launch(
    tmp_path: Path, settings: dict[str, str], says: str
) -> None:
    run = Run(tmp_path, "ok", **settings)
    code, errors = run.end()
    assert code == 2 and says in errors
    assert run.lines() == []


def test_defaults_follow_the_layout() -> None:
    plan = sample_plan("torchtitan", layout=DP8, gpu=B200, gpus_per_node=4)
    facts = LAUNCHER.facts(plan)
    assert (facts["nodes"], facts["gpus_per_node"], facts["tasks_per_node"]) == (2, 4, 1)
    assert facts["log_mode"] == "append" and facts["requeue"] is True and facts["max_failures"] == 3
