"""The script that starts hosts, run with a stand-in for ssh that stays on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.hosts import LAUNCHER
from parc.compiler.plan import Layout, Plan
from parc.dsl.diagnostics import JobError
from parc.dsl.launchers import Hosts
from tests.support.sample_plans import sample_plan

TWO_NODES = Layout(dp_shard=16, zero=3)
#: Runs what a host would run, with the host's name in the environment, and keeps the words.
SSH = """#!/bin/bash
while [[ $1 == -o ]]; do shift 2; done
[[ $1 == -- ]] && shift
export HOST="$1"
shift
exec bash -c "$*"
"""
#: Stands in for the entry script: what it is told, and how it ends.
ENTRY = """#!/usr/bin/env python3
import os, pathlib, signal, sys, time
host, out = os.environ["HOST"], pathlib.Path(os.environ["OUT"])
names = ("NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "RUN_DIR", "READY", "RUN_START")
told = [os.environ.get(name, "") for name in names] + [os.getcwd()] + sys.argv[1:]
starts = out / f"starts-{host}"
with starts.open("a") as file:
    file.write("|".join(told) + "\\n")
number = len(starts.read_text().splitlines())
def save(*_):
    (out / f"saved-{host}").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
(out / f"ready-{host}").touch()
print("hello from", host)
for line in os.environ.get("ENDS", "").split():
    name, start, status = line.split(":")
    if name == host and number == int(start):
        while len(list(out.glob("ready-*"))) < 2: # the other one hears TERM
            time.sleep(0.05)
        sys.exit(int(status))
time.sleep(60)
"""
HOSTFILE = "# ours\none slots=8\n\n  two # the second\nthree\n"


def plan_of(**settings: Any) -> Plan:
    options = BACKENDS["deepspeed"].target.options()
    return sample_plan("deepspeed", options, layout=TWO_NODES, launch=Hosts(**settings))


def start(plan: Plan, folder: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    tools = folder / "tools"
    tools.mkdir()
    (tools / "ssh").write_text(SSH)
    (tools / "ssh").chmod(0o755)
    entry = "deepspeed/launch.sh"
    files = {**LAUNCHER.emit(plan, entry), "entry.py": ENTRY}
    files[entry] = 'exec python3 "$(dirname -- "$0")/../entry.py" "$@"\n'
    for path, text in files.items():
        (folder / "a b" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "a b" / path).write_text(text)
    (folder / "hostfile").write_text(HOSTFILE)
    return subprocess.Popen(
        ["bash", str(folder / "a b" / "hosts" / "deepspeed.sh"), *words],
        cwd=folder,
        env={"PATH": f"{tools}:{os.environ['PATH']}", "OUT": str(folder), **variables},
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(*paths: Path) -> None:
    for path in paths:
        for _ in range(3000):
            if path.exists():
                break
            time.sleep(0.02)
        assert path.exists(), path.name


def test_each_host_is_told_its_place(tmp_path: Path) -> None:
    plan = plan_of(setup=("export READY=yes",))
    ends = "one:1:0 two:1:0"
    done = start(plan, tmp_path, "--steps=3", "a  b", ENDS=ends, RUN_DIR="x y")
    assert done.wait(60) == 0, done.communicate()[1]
    begun = set()
    for rank, host in enumerate(("one", "two")):
        told = (tmp_path / f"starts-{host}").read_text().split("|")
        begun.add(told.pop(6))
        line = f"2|{rank}|one|29500|{tmp_path}/x y|yes|{tmp_path}|--steps=3|a  b\n"
        assert "|".join(told) == line
        assert (tmp_path / "x y" / "logs" / f"{host}.log").read_text() == f"hello from {host}\n"
    assert not (tmp_path / "starts-three").exists()
    assert len(begun) == 1 and "" not in begun, "one folder for the logs of a start"


def test_when_one_fails_the_others_save_and_all_start_again(tmp_path: Path) -> None:
    plan = plan_of(restarts=2)
    done = start(plan, tmp_path, ENDS="two:1:7 one:2:0 two:2:0")
    assert done.wait(60) == 0
    assert (tmp_path / "saved-one").exists() and not (tmp_path / "saved-two").exists()
    assert "start 1 of at most 3: two ended with status 7" in done.communicate()[1]
    assert len((tmp_path / "starts-one").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("ends", "status", "starts"),
    [("two:1:7 two:2:9", 9, 2), ("two:1:2", 2, 1)],
    ids=["no more restarts", "a start that is refused"],
)
def test_it_ends_with_the_status_of_the_host_that_failed(
    ends: str, status: int, starts: int, tmp_path: Path
) -> None:
    done = start(plan_of(restarts=1), tmp_path, ENDS=ends)
    assert done.wait(60) == status
    assert len((tmp_path / "starts-two").read_text().splitlines()) == starts


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_all_save_when_it_is_stopped(sent: signal.Signals, tmp_path: Path) -> None:
    running = start(plan_of(), tmp_path)
    wait_for(tmp_path / "ready-one", tmp_path / "ready-two")
    running.send_signal(sent)
    assert running.wait(60) == 143
    assert (tmp_path / "saved-one").exists() and (tmp_path / "saved-two").exists()


def test_hosts_do_not_outlive_a_starter_that_is_killed(tmp_path: Path) -> None:
    running = start(plan_of(), tmp_path)
    wait_for(tmp_path / "ready-one", tmp_path / "ready-two")
    running.kill()
    wait_for(tmp_path / "saved-one", tmp_path / "saved-two")


def test_too_few_hosts_are_told(tmp_path: Path) -> None:
    (tmp_path / "few").write_text("one\n# two\n")
    done = start(plan_of(), tmp_path, HOSTFILE="few")
    assert done.wait(60) == 2
    assert "the layout needs 2 nodes, and few has 1" in done.communicate()[1]


def test_reading_gives_the_facts_back() -> None:
    for plan in (plan_of(), plan_of(restarts=9, signal=1234.0, hostfile='a "$b')):
        assert LAUNCHER.read(LAUNCHER.emit(plan, "deepspeed/launch.sh")).values() == LAUNCHER.facts(
            plan
        )


def test_the_script_is_clean_bash(tmp_path: Path) -> None:
    path = tmp_path / "start.sh"
    plan = plan_of(hostfile="$HOME/a b", setup=("source x",))
    path.write_text(LAUNCHER.emit(plan, "deepspeed/launch.sh")["hosts/deepspeed.sh"])
    done = subprocess.run(["shellcheck", "-S", "warning", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_hostfile_that_no_line_holds_is_refused() -> None:
    with pytest.raises(JobError) as caught:
        LAUNCHER.emit(plan_of(hostfile="a\nb"), "deepspeed/launch.sh")
    assert [found.code for found in caught.value.diagnostics] == ["PAR678"]
