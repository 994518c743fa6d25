"""After success, failure, Ctrl-C and SIGKILL nothing runs on, no port is held, no name or folder is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.support import slurm_tools
from tests.acceptance.support.environments import TREE
from tests.acceptance.support.host_names import HOSTS
from tests.acceptance.support.session_guard import holders
from tests.support.waiting import wait_until

#: A session with a cluster, a job on it and a framework's probe, each of which outlives what it does.
SESSION = """
import json, time
from pathlib import Path
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.slurm_cluster import cluster

def test_s(tmp_path):
    with cluster(tmp_path / "c", nodes=2, gpus=1, cores=2) as made:
        script = tmp_path / "job.sh"
        script.write_text("#!/usr/bin/env bash\\n#SBATCH --nodes=2\\nsrun sleep 600\\n")
        run = made.submit(script, tmp_path)
        run.wait_for({"RUNNING"}, 240)
        case = {"name": "x", "arguments": [], "environment": {}, "world": 1, "capability": [9, 0], "build": 0}
        Path(MARK).write_text(str(made.slurm.configuration))
        probe("megatron", "megatron_probe", [case] * 40, tmp_path)
        END
"""
ENDS = {
    "success": "pass",
    "failure": "raise AssertionError",
    "ctrl-c": "time.sleep(600)",
    "killed": "time.sleep(600)",
}
SIGNALS = {"ctrl-c": signal.SIGINT, "killed": signal.SIGKILL}
#: The longest that a guard takes to see that its session is gone, and to end what that left.
GONE_SECONDS = 60


def marked(mark: str) -> list[str]:
    """Commands of the processes that were started with the mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left(end: str, tmp_path: Path) -> None:
    slurm_tools.needs_root()
    slurm_tools.install()
    ready, scratch = tmp_path / "ready", tmp_path / "scratch"
    scratch.mkdir()
    session = tmp_path / "test_session.py"
    session.write_text(SESSION.replace("MARK", repr(str(ready))).replace("END", ENDS[end]))
    mark = f"PARC_LEFT_BY={tmp_path}"
    environment = {**os.environ, "PARC_LEFT_BY": str(tmp_path), "TMPDIR": str(scratch)}
    environment["PYTHONPATH"] = str(TREE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(session)]
    command += ["--rootdir", str(tmp_path), "--basetemp", str(tmp_path / "b")]
    said = tmp_path / "session.out"
    with said.open("wb") as out:
        process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=out, stderr=out)
    try:
        wait_until(
            lambda: ready.exists() or process.poll() is not None, 400, "the session's cluster"
        )
        assert ready.exists(), f"the session ended before its cluster ran:\n{said.read_text()}"
        if end in SIGNALS:
            process.send_signal(SIGNALS[end])
        status = process.wait(timeout=600)
    finally:
        process.kill()
    assert (status == 0) is (end == "success")
    wait_until(lambda: not marked(mark), GONE_SECONDS, f"the end of {marked(mark)}")
    # What has cleared its environment holds a file of the session.
    wait_until(lambda: not holders(f"{tmp_path}/"), GONE_SECONDS, "the end of what holds files")
    wait_until(lambda: str(tmp_path) not in HOSTS.read_text(), GONE_SECONDS, "the names' end")
    assert not list(scratch.iterdir())
