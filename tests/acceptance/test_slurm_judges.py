"""A real SLURM starts a job again, without the node that failed twice, or not, as its batch script judges.

The launched scripts only end, each in its way; how the frameworks save and go on is in `test_slurm_runs.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.support import slurm_tools
from tests.acceptance.support.generated_jobs import Generated
from tests.acceptance.support.slurm_cluster import ENDED, Cluster, Run, cluster
from tests.acceptance.test_slurm_runs import END_SECONDS, deepspeed, start_again, submit
from tests.support.waiting import wait_until

ENTRY = "deepspeed/launch.sh"


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    slurm_tools.needs_root()
    slurm_tools.install()
    with cluster(tmp_path_factory.mktemp("cluster") / "c", nodes=4, gpus=1, cores=2) as made:
        yield made


def submitted(made: Cluster, folder: Path, entry: str, requeue: int = 3, name: str = "tiny") -> Run:
    job = deepspeed(steps=9, requeue=requeue, name=name)
    files = {**job.files, ENTRY: f"#!/usr/bin/env bash\n{entry}\n"}
    given = Generated(name, "", job.plan, files, ())
    return submit(made, given, folder, RUN_DIR=str(folder / "run"))


def told(run: Run) -> list[dict[str, str]]:
    """The fields of each line of the run's log."""
    path = run.folder / "run" / "run.log"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [re.findall(r'(\w+)=("[^"]*"|\S+)', line) for line in lines]
    return [{name: value.strip('"') for name, value in each} for each in found]


def end_of(run: Run, number: int) -> None:
    wait_until(lambda: len(told(run)) >= number, END_SECONDS, f"end {number}")


def ends(run: Run, count: int) -> list[dict[str, str]]:
    """Its first `count` ends, after each of which it is waiting, and is started."""
    for number in range(1, count + 1):
        end_of(run, number)
        if number < count:
            run.wait_for({"PENDING"}, END_SECONDS)
            start_again(run)
    return told(run)


#: What the script does, and how SLURM sees the one end.
ONCE = {
    "a typo": ("echo 'launch.sh: no such option' >&2; exit 2", "final", "2:0"),
    "out of memory": (
        "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.' >&2; exit 1",
        "final",
        "1:0",
    ),
}


@pytest.mark.parametrize("name", ONCE)
def test_what_would_come_back_is_started_once(name: str, emulated: Cluster, tmp_path: Path) -> None:
    entry, end, code = ONCE[name]
    run = submitted(emulated, tmp_path, entry)
    assert run.wait_for(ENDED, END_SECONDS) == "FAILED", run.log
    (line,) = told(run)
    assert (line["end"], line["start"], run.fields()["ExitCode"]) == (end, "1", code)
    assert line["next"] == "ended: it would come back" and run.fields()["Restarts"] == "0"


def test_an_unknown_failure_without_a_checkpoint_is_started_twice(
    emulated: Cluster, tmp_path: Path
) -> None:
    run = submitted(emulated, tmp_path, "exit 7")
    last = ends(run, 2)[-1]
    assert run.wait_for(ENDED, END_SECONDS) == "FAILED"
    assert (last["end"], last["status"], last["start"]) == ("unknown", "7", "2")
    assert last["next"] == "ended: 2 starts without a new checkpoint"


#: The second node's task is killed while n2 is that node, and the training ends once it is not.
BAD_NODE = """
[[ $SLURM_JOB_NODELIST == *2* ]] || exit 0
((NODE_RANK == 0)) || { kill -9 "$PPID"; exit 1; }
sleep 60
"""


def test_a_node_that_failed_twice_is_left_out(emulated: Cluster, tmp_path: Path) -> None:
    run = submitted(emulated, tmp_path, BAD_NODE)
    lines = ends(run, 2)
    assert [(each["end"], each["node"]) for each in lines] == [("node", "n2")] * 2, run.log
    assert lines[1]["next"] == "requeued without n2: failure 2 of at most 3"
    run.wait_for({"PENDING"}, END_SECONDS)
    wait_until(lambda: run.fields()["ExcNodeList"] == "n2", END_SECONDS, "n2 is left out")
    start_again(run)
    assert run.wait_for(ENDED, END_SECONDS) == "COMPLETED", run.log
    last = told(run)[-1]
    assert (last["end"], last["start"]) == ("done", "3") and "n2" not in last["nodes"]


def test_a_node_that_is_lost_is_told_and_slurm_starts_it_again(
    emulated: Cluster, tmp_path: Path
) -> None:
    run = submitted(emulated, tmp_path, "echo running; sleep 600")
    run.wait_for_line("running", END_SECONDS)
    lost = run.slurm.text("scontrol", "show", "hostnames", run.fields()["NodeList"]).split()[-1]
    down = ("scontrol", "update", f"NodeName={lost}", "State=DOWN", "Reason=lost")
    run.slurm.run(*down)
    try:
        run.wait_for_line('next="', END_SECONDS)
        run.wait_for({"PENDING"}, END_SECONDS)
    finally:
        run.slurm.run("scontrol", "update", f"NodeName={lost}", "State=IDLE")
        run.slurm.run("scancel", str(run.number))
    (line,) = told(run)
    assert (line["end"], line["node"]) == ("slurm", lost), run.log
    assert (line["reason"], line["next"]) == ("a node was lost", "SLURM starts it again")
