"""Why a start ended and what follows: the emitted scripts, started as often as they ask SLURM for it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from parc.backends.slurm import LAUNCHER
from parc.backends.slurm.endings import Ending, endings
from parc.compiler.plan import Layout, Plan
from parc.dsl.job import Launch
from tests.support.sample_plans import sample_plan

ENTRY = "deepspeed/launch.sh"
JOB = "4711"
#: How many starts there are at most, whatever the script asks for.
ENDLESS = 8

STAND_INS = {
    "scontrol": r"""
case "$*" in
"show hostnames n[1-2]") printf '%s\n' n1 n2 ;;
"show hostnames "*) tr , '\n' <<<"$3" ;;
"show job "*)
    echo "   Requeue=1 Restarts=$(cat "$STATE/restarts") BatchFlag=1"
    echo "   ReqNodeList=(null) ExcNodeList=$(cat "$STATE/excluded")"
    ;;
requeue*) [[ ! -e $STATE/refuses ]] && touch "$STATE/again" ;;
update*) sed 's/.*ExcNodeList=//' <<<"$*" >"$STATE/excluded" ;;
esac""",
    "sinfo": r"""
case "$*" in
*--states=down*) cat "$STATE/down" ;;
*) cat "$STATE/nodes" ;;
esac""",
    # What this start prints, the step of its checkpoint, and its status.
    "srun": r"""
play=$STATE/plays/$(cat "$STATE/restarts")
cat "$play.text" >&2
if [[ -s $play.step ]]; then
    mkdir -p "$RUN_DIR/checkpoints"
    printf 'step%s' "$(cat "$play.step")" >"$RUN_DIR/checkpoints/latest"
fi
[[ ! -s $play.kill ]] || kill "-$(cat "$play.kill")" "$PPID"
exit "$(cat "$play.status")" """,
}


@dataclass(frozen=True)
class Play:
    """A start: what the job prints, with which status the step ends, and the step of its newest checkpoint.
    `kill` is a signal that the batch script gets first."""

    text: str = ""
    status: int = 1
    step: int | None = None
    kill: str = ""


@dataclass
class Job:
    """Scripts under stand-ins for SLURM's commands."""

    folder: Path
    requeue: int = 3
    nodes: tuple[str, ...] = ("n1", "n2", "n3")
    statuses: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, body in STAND_INS.items():
            self.write(f"bin/{name}", f"#!/usr/bin/env bash\n{body}\n")
        for path, text in LAUNCHER.emit(plan(self.requeue), ENTRY).items():
            self.write(f"out/{path}", text)
        self.write(f"out/{ENTRY}", "")
        self.write("state/nodes", "".join(f"{each}\n" for each in self.nodes))
        self.write("state/excluded", "(null)\n")
        self.write("state/down", "")

    def write(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o755)

    def run(self, *plays: Play) -> list[str]:
        """Its lines of run.log, after as many starts as it asked for; the last play is played on."""
        self.statuses = []
        for number in range(ENDLESS):
            self.play(number, plays[min(number, len(plays) - 1)])
            again = self.folder / "state/again"
            if not again.exists():
                return self.lines()
            again.unlink()
        raise AssertionError(f"{ENDLESS} starts\n{self.lines()}")

    def play(self, number: int, play: Play) -> None:
        for name, value in vars(play).items():
            self.write(f"state/plays/{number}.{name}", "" if value is None else str(value))
        self.write("state/restarts", str(number))
        environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "STATE": str(self.folder / "state"),
            "RUN_DIR": str(self.folder / "run"),
            "PARC_OUT": str(self.folder / "out"),
            "SLURM_JOB_ID": JOB,
            "SLURM_JOB_NAME": "run",
            "SLURM_JOB_NODELIST": "n[1-2]",
            "SLURM_JOB_PARTITION": "train",
            "SLURM_NNODES": "2",
            "SLURM_GPUS_ON_NODE": "8",
            "SLURM_CPUS_ON_NODE": "96",
            "SLURM_SUBMIT_DIR": str(self.folder),
            "SLURM_RESTART_COUNT": str(number),
        }
        script = self.folder / "out/slurm/deepspeed.sbatch"
        with (self.folder / "job.out").open("ab") as output:
            done = subprocess.run(
                ["bash", script], env=environment, stdout=output, stderr=output, timeout=60
            )
        self.statuses.append(done.returncode)

    def lines(self) -> list[str]:
        return (self.folder / "run/run.log").read_text().splitlines()

    @property
    def excluded(self) -> str:
        return (self.folder / "state/excluded").read_text().strip()


def plan(requeue: int) -> Plan:
    layout = Layout(dp_shard=16, zero=1, microbatches=4)
    return sample_plan("deepspeed", layout=layout, launch=Launch(requeue=requeue))


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def fields(line: str) -> dict[str, str]:
    found = re.findall(r'(\w+)=("[^"]*"|\S+)', line)
    return {name: value.strip('"') for name, value in found}


def test_a_line_tells_the_whole_story(job: Job) -> None:
    (line,) = job.run(Play(status=0, step=40))
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d job=4711 start=1 nodes=n\[1-2\] status=0 steps=0-40 end=done "
        r'node=- reason="the program ended" next="ended"',
        line,
    )
    assert line in (job.folder / "job.out").read_text()


#: Starts of a job that ends in this way each time, without a checkpoint and with one each time.
STARTS = {
    "slurm": (1, 1),
    "cancelled": (1, 1),
    "final": (1, 1),
    "early": (1, 4),
    "time": (2, ENDLESS),
    "node": (2, 4),
    "network": (2, 4),
    "host": (2, 4),
}


def ids(ending: Ending) -> str:
    return ending.what


@pytest.mark.parametrize("ending", endings(), ids=ids)
def test_each_row_is_recognised_and_judged(ending: Ending, tmp_path: Path) -> None:
    """In two nodes of a partition of two, none can be left out."""
    text = f"step 1\n{ending.example}\nand more\n"
    stuck = Job(tmp_path / "stuck", nodes=("n1", "n2")).run(Play(text))
    first = fields(stuck[0])
    assert first["reason"].startswith(ending.what), first
    assert first["end"] == ("final" if ending.kind == "early" else ending.kind)
    without, moving = STARTS[ending.kind]
    assert len(stuck) == without, stuck
    moves = [Play(text, step=100 * number) for number in range(1, ENDLESS)]
    lines = Job(tmp_path / "moving", nodes=("n1", "n2")).run(*moves, Play(status=0, step=9999))
    assert len(lines) == moving, lines


@pytest.mark.parametrize("ending", endings(), ids=ids)
def test_a_row_reads_in_linear_time_and_says_where_it_is_from(ending: Ending) -> None:
    """grep -E is linear but for back references."""
    assert not re.search(r"\\[1-9]", ending.pattern)
    assert ending.source and ending.kind in STARTS
    assert not re.search(r"[\"'\n]", ending.what)


def test_an_end_by_its_own_refusal_is_not_repeated(job: Job) -> None:
    (line,) = job.run(Play("this layout is for 16 GPUs\n", status=2))
    assert fields(line)["end"] == "final" and fields(line)["status"] == "2"
    assert job.statuses == [2]


def test_an_unknown_error_without_progress_ends_after_two_starts(job: Job) -> None:
    lines = job.run(Play("RuntimeError: mat1 and mat2 cannot be multiplied\n", status=7))
    assert [fields(line)["next"] for line in lines] == [
        "requeued: failure 1 of at most 3",
        "ended: 2 starts without a new checkpoint",
    ]
    reason = "an unknown error (RuntimeError: mat1 and mat2 cannot be multiplied)"
    assert {fields(line)["reason"] for line in lines} == {reason}
    assert job.statuses == [7, 7]


def test_failures_with_progress_go_on_up_to_the_cap(job: Job) -> None:
    lines = job.run(*(Play(status=7, step=10 * number) for number in range(1, 9)))
    assert [fields(line)["steps"] for line in lines] == ["0-10", "10-20", "20-30", "30-40"]
    assert fields(lines[-1])["next"] == "ended: failure 4 of at most 3"


def test_the_wall_time_uses_up_no_failures(job: Job) -> None:
    over = "slurmstepd-n1: error: *** STEP 6.0 ON n1 CANCELLED AT 2026-11-27T00:30:00 DUE TO TIME LIMIT ***\n"
    plays = [Play(over, 143, 10 * number) for number in range(1, 6)]
    lines = job.run(*plays, Play(status=7, step=90), Play(status=0, step=100))
    assert [fields(line)["end"] for line in lines] == ["time"] * 5 + ["unknown", "done"]
    assert fields(lines[5])["next"] == "requeued: failure 1 of at most 3"


def test_two_wall_times_without_a_checkpoint_are_the_last(job: Job) -> None:
    lines = job.run(Play(status=1, kill="USR1"))
    assert [fields(line)["end"] for line in lines] == ["time", "time"]
    assert fields(lines[-1])["next"] == "ended: 2 starts without a new checkpoint"


def test_with_requeue_0_nothing_follows(tmp_path: Path) -> None:
    for name, play in {"time": Play(step=5, kill="USR1"), "failure": Play(step=5)}.items():
        (line,) = Job(tmp_path / name, requeue=0).run(play)
        assert fields(line)["next"].startswith("ended: ")


KILLED = "srun: error: n2: task 1: Killed\nsrun: error: n1: task 0: Terminated\n"


def test_a_node_that_failed_twice_is_left_out_where_another_is_free(job: Job) -> None:
    lines = job.run(Play(KILLED, 137), Play(KILLED, 137), Play(status=0, step=40))
    assert [fields(line)["node"] for line in lines] == ["n2", "n2", "-"]
    assert fields(lines[1])["next"] == "requeued without n2: failure 2 of at most 3"
    assert job.excluded == "n2"


SICK = """\
health check: node 1 (n2.cluster.example): GPU 5 had 2 uncorrectable memory errors since its last reset
srun: error: n1: task 0: Exited with exit code 1
"""


def test_a_node_that_the_health_check_names_is_left_out_at_once(job: Job) -> None:
    lines = job.run(Play(SICK), Play(status=0, step=40))
    first = fields(lines[0])
    assert (first["end"], first["node"]) == ("node", "n2")
    assert first["reason"] == "the health check before the first step"
    assert first["next"] == "requeued without n2: failure 1 of at most 3" and job.excluded == "n2"


def test_nodes_left_out_before_stay_so_and_are_not_counted_as_free(tmp_path: Path) -> None:
    job = Job(tmp_path, nodes=("n1", "n2", "n3", "n4"))
    job.write("state/excluded", "n4\n")
    job.run(Play(KILLED, 137), Play(KILLED, 137), Play(status=0, step=40))
    assert job.excluded == "n4,n2"
    job = Job(tmp_path / "few")
    job.write("state/excluded", "n3\n")
    lines = job.run(Play(KILLED, 137))
    assert len(lines) == 2 and job.excluded == "n3"


HOSTS = """\
Root Cause (first observed failure):
[0]:
  time      : 2026-11-27_00:40:12
  host      : n2.cluster.example
  rank      : 8 (local_rank: 0)
  exitcode  : -9 (pid: 123)
  traceback : Signal 9 (SIGKILL) received by PID 123
srun: error: n1: task 0: Exited with exit code 1
"""


def test_the_node_is_that_of_the_process_that_a_signal_ended(job: Job) -> None:
    assert fields(job.run(Play(HOSTS), Play(status=0))[0])["node"] == "n2"


#: The survivor sits in a collective until srun kills it.
SURVIVOR = "srun: error: n1: task 0: Exited with exit code 1\nsrun: error: n2: task 1: Killed\n"


def test_who_is_ended_by_srun_is_not_to_blame(job: Job) -> None:
    lines = job.run(Play(SURVIVOR))
    assert {fields(line)["end"] for line in lines} == {"unknown"} and len(lines) == 2


def test_what_earlier_starts_printed_is_not_read_again(job: Job) -> None:
    lines = job.run(
        Play("RuntimeError: Connection reset by peer\n", 1, 10), Play("nothing known\n", 1)
    )
    assert [fields(line)["end"] for line in lines] == ["network", "unknown", "unknown"]


def test_the_first_end_is_not_hidden_by_a_long_output(job: Job) -> None:
    """Of a start, the last MiB is read, and NUL bytes are none of it."""
    text = "step\n" * 400_000 + "\0torch.OutOfMemoryError: CUDA out of memory\n"
    assert len(job.run(Play(text))) == 1


@pytest.mark.parametrize("cut", [10, 60, 100])
def test_a_line_that_was_cut_off_is_not_counted(job: Job, cut: int) -> None:
    (job.folder / "run").mkdir()
    whole = (
        "2026-11-27T00:00:00 job=4711 start=1 nodes=n[1-2] status=1 steps=0-10 end=unknown node=- "
        'reason="an unknown error" next="requeued: failure 1 of at most 3"'
    )
    (job.folder / "run/run.log").write_text(f"{whole}\n{whole[:cut]}")
    lines = job.run(Play(status=1, step=20), Play(status=0))
    assert lines[:2] == [whole, whole[:cut]]
    assert fields(lines[2])["next"] == "requeued: failure 2 of at most 3"


def test_lines_of_another_job_are_not_counted(job: Job) -> None:
    job.run(Play(status=1))
    others = (job.folder / "run/run.log").read_text().replace("job=4711", "job=47110")
    (job.folder / "run/run.log").write_text(others)
    assert len(job.run(Play(status=1))) == 4


def lost(job: Job, number: int, step: int) -> Iterator[str]:
    """The script is killed with its node."""
    job.play(number, Play(step=step, kill="KILL"))
    yield from job.lines() if (job.folder / "run/run.log").exists() else ()


def test_a_start_that_could_not_write_its_line_is_told_by_the_next(job: Job) -> None:
    assert list(lost(job, 0, 30)) == []
    job.write("state/down", "n1\n")
    job.play(1, Play(status=0, step=60))
    first, last = job.lines()
    assert fields(first)["steps"] == "0-30" and fields(first)["node"] == "n1"
    assert fields(first)["start"] == "1" and fields(first)["end"] == "slurm"
    assert fields(last)["start"] == "2" and fields(last)["steps"] == "30-60"


def test_what_slurm_starts_again_is_left_to_it(job: Job) -> None:
    """TERM to the batch script; SLURM has counted the restart by then."""
    cancel = "slurmstepd-n1: error: *** JOB 4711 ON n1 CANCELLED AT 2026-11-27T00:28:36 DUE TO PREEMPTION ***"
    script = (job.folder / "bin/srun").read_text()
    job.write("bin/srun", script.replace("exit ", 'echo 1 >"$STATE/restarts"; sleep 3; exit '))
    (line,) = job.run(Play(cancel, 143, 50, kill="TERM"))
    assert fields(line)["reason"] == "preempted" and fields(line)["end"] == "slurm"
    assert fields(line)["next"] == "SLURM starts it again"


def test_a_site_that_refuses_is_told(job: Job) -> None:
    job.write("state/refuses", "")
    (line,) = job.run(Play(status=1))
    assert fields(line)["next"] == "ended: this site does not let a job requeue itself"


def test_the_scripts_are_clean_bash(job: Job) -> None:
    for path in (job.folder / "out/slurm").iterdir():
        subprocess.run(["bash", "-n", path], check=True)
        subprocess.run(["shellcheck", "--severity=warning", "--shell=bash", path], check=True)
