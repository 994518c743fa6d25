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
GONE_SECONDS = 300


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


def session(end: str, home: Path) -> subprocess.Popen[bytes]:
    (home / "tmp").mkdir(parents=True)
    text = SESSION.replace("MARK", repr(str(home / "ready"))).replace("END", ENDS[end])
    (home / "test_session.py").write_text(text)
    environment = {**os.environ, "PARC_LEFT_BY": str(home.parent), "TMPDIR": str(home / "tmp")}
    environment["PYTHONPATH"] = str(TREE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_session.py"]
    command += ["--rootdir", str(home), "--basetemp", str(home / "b")]
    with (home / "session.out").open("wb") as out:
        return subprocess.Popen(command, env=environment, cwd=home, stdout=out, stderr=out)


def begun(process: subprocess.Popen[bytes], home: Path) -> bool:
    """Whether the session's cluster runs a job; False when the session has ended before."""
    ready = home / "ready"
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, 900, "the cluster")
    except TimeoutError:
        process.kill()
        raise
    return ready.exists()


def session_with_a_cluster(end: str, folder: Path) -> subprocess.Popen[bytes]:
    """A session. One whose cluster was not up, as on a busy machine, says why and gives way to
    another: nothing of it is left either."""
    for attempt in "123":
        home = folder / attempt
        process = session(end, home)
        if begun(process, home):
            return process
        print(f"a session ended before its job ran:\n{(home / 'session.out').read_text()}")
    raise AssertionError("no session of three had a cluster that ran a job")


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left(end: str, tmp_path: Path) -> None:
    slurm_tools.needs_root()
    slurm_tools.install()
    mark = f"PARC_LEFT_BY={tmp_path}"
    process = session_with_a_cluster(end, tmp_path)
    try:
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
    assert not [kept for each in tmp_path.glob("*/tmp") for kept in each.iterdir()]
