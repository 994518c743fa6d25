"""The starter of a RayJob on a real Ray of two emulated nodes: places, ends, stops, and a training run."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from parc.backends.ray import LAUNCHER
from parc.backends.ray.manifest import LEAVING
from parc.compiler.plan import Layout
from parc.dsl.launchers import Ray
from tests.acceptance.support.deepspeed_runs import losses
from tests.acceptance.support.environments import environment
from tests.acceptance.support.generated_jobs import compile_text
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.support.slurm_tools import free_ports
from tests.acceptance.support.smoke_runs import extensions
from tests.support.paths import ROOT
from tests.support.sample_plans import sample_plan
from tests.support.waiting import wait_until

#: Stands in for the entry script: what it is told, and how it ends.
ENTRY = """import os, pathlib, signal, sys, time
out, rank = pathlib.Path(os.environ["OUT"]), os.environ["NODE_RANK"]
names = ("NNODES", "MASTER_PORT", "CUDA_VISIBLE_DEVICES")
told = [os.environ.get(name, "") for name in names] + [os.getcwd(), *sys.argv[1:]]
(out / f"told-{rank}").write_text("|".join(told))
(out / f"master-{rank}").write_text(os.environ["MASTER_ADDR"])
def save(*_):
    (out / f"saved-{rank}").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
(out / f"ready-{rank}").touch()
for end in os.environ.get("ENDS", "").split():
    node, _, status = end.partition(":")
    if node == rank:
        while len(list(out.glob("ready-*"))) < 2:  # the other one hears TERM
            time.sleep(0.05)
        sys.exit(int(status))
time.sleep(120)
"""
JOB = """
model tiny { layers = 2; hidden = 64; heads = 4; ffn = 128; vocab = 256 }
cluster pair from std.dgx_h100 { nodes = 2; gpus_per_node = 1 }
train { seq_len = 256; global_batch = 4; steps = 3; warmup = 0; checkpoint_interval = 100000 }
goal { require zero == 1 }
target deepspeed { adam = "torch"; log_interval = 1 }
launch ray { image = "registry/train:1"; volumes = ["runs:/runs"] }
"""
LIMIT_SECONDS = 900
#: Starts a command on the two nodes; its output is the program's.
Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def temporary() -> Iterator[Path]:
    """A folder whose name leaves room for those of Ray's sockets in it."""
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def begin(ray_variables: dict[str, str], temporary: Path) -> Iterator[Begin]:
    program = ROOT / "tests" / "acceptance" / "probes" / "ray_nodes_cluster.py"
    own, pipe = {**ray_variables, "TMPDIR": str(temporary)}, subprocess.PIPE
    cluster = subprocess.Popen(
        [sys.executable, program], stdin=pipe, stdout=pipe, text=True, env=own
    )
    assert cluster.stdout
    address = cluster.stdout.readline().strip()
    assert address, "the cluster did not start"

    def started(folder: Path, *command: str, gpus: int = 8, **more: str) -> subprocess.Popen[str]:
        plan = sample_plan(
            "torchtitan",
            BACKENDS["torchtitan"].target.options(),
            layout=Layout(dp_shard=16, zero=3),
            launch=Ray(image="a"),
        )
        (folder / "nodes.py").write_text(LAUNCHER.emit(plan, "a.sh")["ray/ray_nodes.py"])
        shape = ["--nodes", "2", "--gpus", str(gpus), "--folder", str(folder)]
        return subprocess.Popen(
            [sys.executable, str(folder / "nodes.py"), *shape, "--", *command],
            env={**own, "RAY_ADDRESS": address, **more},
            stdout=pipe,
            stderr=subprocess.STDOUT,
            text=True,
        )

    yield started
    cluster.communicate(timeout=LIMIT_SECONDS)


def recorded(begin: Begin, folder: Path, ends: str = "") -> subprocess.Popen[str]:
    """A start of the recorder."""
    (folder / "entry.py").write_text(ENTRY)
    own = ("env", f"OUT={folder}", f"ENDS={ends}")
    return begin(folder, *own, sys.executable, "entry.py", "--steps=3", "a  b", MASTER_PORT="1234")


def left(folder: Path, name: str) -> list[str]:
    return sorted(path.name for path in folder.glob(f"{name}-*"))


def wait_for_both(folder: Path) -> None:
    wait_until(lambda: len(left(folder, "ready")) == 2, LIMIT_SECONDS, "both nodes")


def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
    out, _ = run.communicate(timeout=LIMIT_SECONDS)
    return run.returncode, out


def test_each_node_is_told_its_place(begin: Begin, tmp_path: Path) -> None:
    status, out = ended(recorded(begin, tmp_path, "0:0 1:0"))
    assert status == 0, out
    for rank in (0, 1):
        told = (tmp_path / f"told-{rank}").read_text()
        assert told == f"2|1234|0,1,2,3,4,5,6,7|{tmp_path}|--steps=3|a  b"
    addresses = {(tmp_path / f"master-{rank}").read_text() for rank in (0, 1)}
    assert len(addresses) == 1 and addresses != {""}


def test_when_one_fails_the_other_saves_and_its_status_is_the_jobs(
    begin: Begin, tmp_path: Path
) -> None:
    status, out = ended(recorded(begin, tmp_path, "1:7"))
    assert status == 7, out
    assert "node 1 ended with status 7" in out
    assert left(tmp_path, "saved") == ["saved-0"]


def test_all_save_when_it_is_stopped(begin: Begin, tmp_path: Path) -> None:
    run = recorded(begin, tmp_path)
    wait_for_both(tmp_path)
    run.send_signal(signal.SIGTERM)
    status, out = ended(run)
    assert status == 143, out
    assert left(tmp_path, "saved") == ["saved-0", "saved-1"]


def test_all_save_when_a_pod_is_about_to_end(begin: Begin, temporary: Path, tmp_path: Path) -> None:
    """What Kubernetes runs in the pod before it ends returns when all is saved, and the job is not done."""
    run = recorded(begin, tmp_path)
    wait_for_both(tmp_path)
    before_stop = {"TMPDIR": str(temporary), "PATH": "/usr/bin:/bin"}
    subprocess.run(["bash", "-c", LEAVING], env=before_stop, check=True, timeout=LIMIT_SECONDS)
    assert left(tmp_path, "saved"), "the pod waited for nothing"
    status, out = ended(run)
    assert status == 143, out


def test_deepspeed_trains_over_two_nodes(begin: Begin, tmp_path: Path) -> None:
    """The emitted entry script, started as the manifest's entrypoint starts it."""
    made = compile_text(JOB, "tiny")
    assert made.plan is not None, made.complaints
    script = write(made.files, tmp_path) / "deepspeed" / "launch.sh"
    (port,) = free_ports(1)
    tools = environment("deepspeed").variables(**extensions(), RUN_DIR=str(tmp_path / "run"))
    kept = ("PATH", "TORCH_EXTENSIONS_DIR", "OMP_NUM_THREADS", "HF_HUB_OFFLINE", "RUN_DIR")
    chosen = [f"{name}={tools[name]}" for name in {*kept, *extensions()}]
    command = ("env", "-u", "PYTHONPATH", *chosen, "bash", str(script))
    status, out = ended(begin(tmp_path, *command, gpus=1, MASTER_PORT=str(port)))
    assert status == 0, out[-4000:]
    found = losses("\n".join(line.partition(") ")[2] or line for line in out.splitlines()))
    assert len(found) == 3, out[-4000:]
