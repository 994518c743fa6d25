"""The script that starts hosts with mpirun, run with a stand-in that stays on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.hosts import LAUNCHER
from parc.compiler.plan import Plan
from parc.dsl.launchers import Hosts
from tests.backends.hosts.test_start import TWO_NODES, wait_for
from tests.support.sample_plans import sample_plan

#: Starts what Open MPI would, on each host with the variables that it is told to hand on; hands USR1 on, and
#: ends all with the first that fails.
MPIRUN = """#!/usr/bin/env python3
import os, signal, subprocess, sys, time
words, own, at = sys.argv[1:], {}, 0
while words[at].startswith("-"):
    if words[at] == "-x":
        own[words[at + 1]] = os.environ[words[at + 1]]
    if words[at] == "--host":
        hosts = [host.partition(":")[0] for host in words[at + 1].split(",")]
    if words[at] == "-np":
        assert words[at + 1] == "2", words
    at += 2
own = {"OUT": os.environ["OUT"], "ENDS": os.environ.get("ENDS", ""), **own}
runs = [
    subprocess.Popen(words[at:], env={**own, "HOST": host, "OMPI_COMM_WORLD_SIZE": str(len(hosts)),
                                      "OMPI_COMM_WORLD_RANK": str(rank)})
    for rank, host in enumerate(hosts)
]
def hand_on(number, frame):
    for run in runs:
        run.send_signal(number)
signal.signal(signal.SIGUSR1, hand_on)
signal.signal(signal.SIGTERM, lambda *_: [run.kill() for run in runs])
while any(run.poll() is None for run in runs):
    failed = [run.returncode for run in runs if run.poll()]
    if failed:
        for run in runs:
            run.kill()
        sys.exit(failed[0] if failed[0] > 0 else 128 - failed[0])
    time.sleep(0.02)
sys.exit(max(abs(run.returncode) for run in runs))
"""
#: Stands in for the entry script: what it is told, and how it ends. USR1 has it save.
ENTRY = """#!/usr/bin/env python3
import os, pathlib, signal, sys, time
rank, out = os.environ["OMPI_COMM_WORLD_RANK"], pathlib.Path(os.environ["OUT"])
names = ("OMPI_COMM_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RUN_DIR", "READY", "OWN")
told = [os.environ.get(name, "") for name in names] + [os.getcwd()] + sys.argv[1:]
starts = out / f"starts-{rank}"
with starts.open("a") as file:
    file.write("|".join(told) + "\\n")
number = len(starts.read_text().splitlines())
def save(*_):
    (out / f"saved-{rank}").touch()
    sys.exit(0)
signal.signal(signal.SIGUSR1, save)
(out / f"ready-{rank}").touch()
print("hello from", rank, flush=True)
for line in os.environ.get("ENDS", "").split():
    name, start, status = line.split(":")
    if name == rank and number == int(start):
        while len(list(out.glob("ready-*"))) < 2:
            time.sleep(0.05)
        sys.exit(int(status))
time.sleep(60)
"""


def plan_of(**settings: Any) -> Plan:
    options = BACKENDS["deepspeed"].target.options()
    launch = Hosts(starter="mpirun", **settings)
    return sample_plan("deepspeed", options, layout=TWO_NODES, launch=launch)


def start(
    plan: Plan, folder: Path, *words: str, mpirun: str = MPIRUN, **variables: str
) -> subprocess.Popen[str]:
    tools = folder / "tools"
    tools.mkdir()
    (tools / "mpirun").write_text(mpirun)
    (tools / "mpirun").chmod(0o755)
    entry = "deepspeed/launch.sh"
    files = {**LAUNCHER.emit(plan, entry), "entry.py": ENTRY}
    files[entry] = 'exec python3 "$(dirname -- "$0")/../entry.py" "$@"\n'
    for path, text in files.items():
        (folder / "a b" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "a b" / path).write_text(text)
    (folder / "hostfile").write_text("# ours\none slots=8\n\n  two # the second\nthree\n")
    return subprocess.Popen(
        ["bash", str(folder / "a b" / "hosts" / "deepspeed.sh"), *words],
        cwd=folder,
        env={"PATH": f"{tools}:{os.environ['PATH']}", "OUT": str(folder), **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_each_host_is_told_its_place(tmp_path: Path) -> None:
    plan = plan_of(setup=("export READY=yes",))
    own = {"MPIRUN_OPTIONS": "-x OWN --mca x", "OWN": "x y", "RUN_DIR": "x y"}
    done = start(plan, tmp_path, "--steps=3", "a  b", ENDS="0:1:0 1:1:0", **own)
    assert done.wait(60) == 0, done.communicate()[1]
    for rank in (0, 1):
        line = f"2|one|29500|{tmp_path}/x y|yes|x y|{tmp_path}|--steps=3|a  b\n"
        assert (tmp_path / f"starts-{rank}").read_text() == line
        log = tmp_path / "x y" / "logs" / f"node-{rank}.log"
        assert log.read_text() == f"hello from {rank}\n"


def test_when_one_fails_all_start_again(tmp_path: Path) -> None:
    done = start(plan_of(restarts=2), tmp_path, ENDS="1:1:7 0:2:0 1:2:0")
    assert done.wait(60) == 0
    assert "start 1 of at most 3 ended with status 7" in done.communicate()[1]
    assert len((tmp_path / "starts-0").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("ends", "status", "starts"),
    [("1:1:7 1:2:9", 9, 2), ("1:1:2", 2, 1)],
    ids=["no more restarts", "a start that is refused"],
)
def test_it_ends_with_the_status_of_the_host_that_failed(
    ends: str, status: int, starts: int, tmp_path: Path
) -> None:
    done = start(plan_of(restarts=1), tmp_path, ENDS=ends)
    assert done.wait(60) == status
    assert len((tmp_path / "starts-1").read_text().splitlines()) == starts


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_all_save_when_it_is_stopped(sent: signal.Signals, tmp_path: Path) -> None:
    running = start(plan_of(), tmp_path)
    wait_for(tmp_path / "ready-0", tmp_path / "ready-1")
    running.send_signal(sent)
    assert running.wait(60) == 143
    assert (tmp_path / "saved-0").exists() and (tmp_path / "saved-1").exists()
    assert not (tmp_path / "starts-2").exists()


def test_too_few_hosts_are_told(tmp_path: Path) -> None:
    (tmp_path / "few").write_text("one\n# two\n")
    done = start(plan_of(), tmp_path, HOSTFILE="few")
    assert done.wait(60) == 2
    assert "the layout needs 2 nodes, and few has 1" in done.communicate()[1]


def test_reading_gives_the_facts_back() -> None:
    for plan in (plan_of(), plan_of(restarts=9, signal=1234.0, hostfile='a "$b')):
        files = LAUNCHER.emit(plan, "deepspeed/launch.sh")
        assert LAUNCHER.read(files).values() == LAUNCHER.facts(plan)


def test_the_script_is_clean_bash(tmp_path: Path) -> None:
    path = tmp_path / "start.sh"
    plan = plan_of(hostfile="$HOME/a b", setup=("source x",))
    path.write_text(LAUNCHER.emit(plan, "deepspeed/launch.sh")["hosts/deepspeed.sh"])
    done = subprocess.run(["shellcheck", "-S", "warning", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
