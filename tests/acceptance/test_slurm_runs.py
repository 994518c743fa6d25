"""Emitted batch scripts over two emulated nodes: they train, fail, save, requeue and stop as they should."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from parc.backends.torchtitan.smoke import SMOKE, write_text
from parc.smoke.smoke_run import on_cpu
from tests.acceptance.support import slurm_tools
from tests.acceptance.support.environments import environment
from tests.acceptance.support.generated_jobs import Generated, compile_text
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.support.slurm_cluster import ENDED, Cluster, Run, cluster

#: Two nodes of one GPU each: two processes on this host.
JOB = """
model tiny {{ layers = 2; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster pair from std.dgx_h100 {{ nodes = 2; gpus_per_node = 1 }}
train {{ seq_len = 256; global_batch = 4; steps = {steps}; warmup = 0; checkpoint_interval = 100000 }}
goal {{ require {rule} }}
target {target} {{ {options} }}
launch slurm {{ time = {minutes} min; signal = {signal} s; requeue = {requeue}; partition = "train" }}
"""
#: For a machine several times slower than the one that needs a tenth of them.
START_SECONDS = 600
END_SECONDS = 500


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    slurm_tools.needs_root()
    slurm_tools.install()
    with cluster(tmp_path_factory.mktemp("cluster") / "c", nodes=4, gpus=1, cores=2) as made:
        yield made


def deepspeed(
    steps: int, minutes: int = 30, signal: int = 0, requeue: int = 0, name: str = "tiny"
) -> Generated:
    options = 'adam = "torch"; log_interval = 1'
    text = JOB.format(
        target="deepspeed",
        options=options,
        rule="zero == 1",
        steps=steps,
        minutes=minutes,
        signal=signal,
        requeue=requeue,
    )
    return _compiled(text, name)


def _compiled(text: str, name: str) -> Generated:
    found = compile_text(text, name)
    assert found.plan is not None, found.complaints
    return found


def submit(
    made: Cluster,
    job: Generated,
    folder: Path,
    *options: str,
    tools: str = "deepspeed",
    **more: str,
) -> Run:
    """The emitted script, with the framework's own torchrun on its path."""
    write(job.files, folder)
    (script,) = (folder / "slurm").glob("*.sbatch")
    variables = environment(tools).variables(SAVE=str(folder / "checkpoints"), **more)
    kept = {name: value for name, value in variables.items() if not name.startswith("SLURM")}
    return made.submit(script, folder, *options, **kept)


def steps_of(log: str) -> list[int]:
    return [int(number) for number in re.findall(r"step:? +(\d+)(?:/\d+ \||.*loss:)", log)]


def test_deepspeed_trains_over_two_nodes(emulated: Cluster, tmp_path: Path) -> None:
    run = submit(emulated, deepspeed(steps=4), tmp_path)
    assert run.wait_for(ENDED, START_SECONDS) == "COMPLETED", run.log
    assert run.fields()["NumNodes"] == "2"
    assert steps_of(run.log) == [1, 2, 3, 4]


def torchtitan(steps: int, minutes: int = 30, signal: int = 0, requeue: int = 0) -> Generated:
    options = (
        'data = "c4_test"; log_interval = 1; extra = { "optimizer.implementation" = "for-loop"; '
        '"metrics.disable_color_printing" = true }'
    )
    text = JOB.format(
        target="torchtitan",
        options=options,
        rule="dp_shard == 2",
        steps=steps,
        minutes=minutes,
        signal=signal,
        requeue=requeue,
    )
    return _compiled(text, "tiny")


def submit_torchtitan(made: Cluster, job: Generated, folder: Path) -> Run:
    write_text(folder / "assets")
    return submit(
        made,
        job,
        folder,
        tools="torchtitan-0.2.2",
        **on_cpu(SMOKE),
        HF_HOME=str(folder / "hub"),
        HF_ASSETS_PATH=str(folder / "assets" / "tokenizer"),
        DATASET_PATH=str(folder / "assets" / "data"),
        DUMP_FOLDER=str(folder / "out"),
    )


def test_torchtitan_trains_over_two_nodes(emulated: Cluster, tmp_path: Path) -> None:
    run = submit_torchtitan(emulated, torchtitan(steps=3), tmp_path)
    assert run.wait_for(ENDED, START_SECONDS) == "COMPLETED", run.log
    assert {1, 2, 3} <= set(steps_of(run.log)), run.log


def test_two_jobs_at_once_do_not_meet(emulated: Cluster, tmp_path: Path) -> None:
    runs = [
        submit(emulated, deepspeed(steps=3, name=name), tmp_path / name) for name in ("one", "two")
    ]
    for run in runs:
        assert run.wait_for(ENDED, START_SECONDS) == "COMPLETED", run.log
        assert steps_of(run.log) == [1, 2, 3]
    one, two = (run.fields() for run in runs)
    assert max(one["StartTime"], two["StartTime"]) < min(one["EndTime"], two["EndTime"])
    ports = {re.findall(r"rendezvous at \S+:(\d+)", run.log)[0] for run in runs}
    assert len(ports) == 2


#: Node 1 fails as soon as node 0 runs.
FAILS = """\
#!/usr/bin/env bash
runs="${BASH_SOURCE[0]}.runs"
if ((NODE_RANK == 0)); then
    touch "$runs"
    sleep 600
fi
until [[ -e $runs ]]; do sleep 0.1; done
date +'failing at %Y-%m-%dT%H:%M:%S'
exit 7
"""


def test_a_failing_rank_ends_the_job_with_its_code(emulated: Cluster, tmp_path: Path) -> None:
    """The other node would have gone on for minutes; SLURM's own clock says how long it did.

    It fails once the other one runs: a shell that is ended before it listens to TERM answers 143, and the
    highest status of all is the job's.
    """
    job = deepspeed(steps=3)
    entry = "deepspeed/launch.sh"
    failing = Generated("tiny", "", job.plan, {**job.files, entry: FAILS}, ())
    run = submit(emulated, failing, tmp_path)
    assert run.wait_for(ENDED, END_SECONDS) == "FAILED"
    (failed,) = re.findall(r"failing at (\S+)", run.log)
    ended = datetime.fromisoformat(run.fields()["EndTime"])
    assert (ended - datetime.fromisoformat(failed)).total_seconds() < 30
    assert run.fields()["ExitCode"] == "7:0", run.log


def test_another_shape_is_refused_by_the_script(emulated: Cluster, tmp_path: Path) -> None:
    run = submit(emulated, deepspeed(steps=3), tmp_path, "--nodes=1")
    assert run.wait_for(ENDED, END_SECONDS) == "FAILED"
    assert run.fields()["ExitCode"] == "2:0"
    assert "the layout needs 2 nodes, SLURM gave 1" in run.log


def let_time_run_out(run: Run) -> None:
    """Leaves the job between two and three more minutes: SLURM warns it when 150 s are left."""
    hours, minutes, _ = (int(part) for part in run.fields()["RunTime"].split(":"))
    limit = f"TimeLimit={60 * hours + minutes + 3}"
    run.slurm.run("scontrol", "update", f"JobId={run.number}", limit)


def start_again(run: Run) -> None:
    """Sooner than SLURM's two minutes after a requeue, but seconds after it.

    A node revokes a job's credentials when the job ends there, and refuses those made in the same second.
    """
    sooner = ("StartTime=now+5", "TimeLimit=60")
    run.slurm.run("scontrol", "update", f"JobId={run.number}", *sooner)


def test_it_saves_requeues_and_continues(emulated: Cluster, tmp_path: Path) -> None:
    """SLURM itself sends USR1 before the wall time, which uses up no `requeue`."""
    job = deepspeed(steps=1_000_000, minutes=60, signal=150, requeue=1)
    run = submit(emulated, job, tmp_path)
    run.wait_for_line("step 3/", START_SECONDS)
    let_time_run_out(run)
    run.wait_for_line('next="requeued: wall time"', END_SECONDS)
    run.wait_for({"PENDING"}, END_SECONDS)
    last = int((tmp_path / "checkpoints" / "latest").read_text().removeprefix("step"))
    assert last == steps_of(run.log)[-1], run.log
    start_again(run)
    run.wait_for_line(f"step {last + 3}/", START_SECONDS)
    assert steps_of(run.log).count(last + 1) == 1
    let_time_run_out(run)
    run.wait_for_line(
        f"start=2 nodes={run.fields()['NodeList']} status=0 steps={last}-", END_SECONDS
    )
    run.wait_for({"PENDING"}, END_SECONDS)
    run.slurm.run("scancel", str(run.number))
    assert run.log.count("asking every rank for a last checkpoint") == 2
    assert run.log.count('end=time node=- reason="the wall time was near') == 2, run.log
    assert int((tmp_path / "checkpoints" / "latest").read_text().removeprefix("step")) > last


def test_torchtitan_saves_requeues_and_continues(emulated: Cluster, tmp_path: Path) -> None:
    """USR1 to the batch script, TERM to every process: both ranks save after the same step and leave."""
    job = torchtitan(steps=1_000_000, minutes=60, signal=150, requeue=1)
    run = submit_torchtitan(emulated, job, tmp_path)
    run.wait_for_line("step:  3 ", START_SECONDS)
    let_time_run_out(run)
    run.wait_for_line('next="requeued: wall time"', END_SECONDS)
    run.wait_for({"PENDING"}, END_SECONDS)
    last = max(steps_of(run.log))
    assert [each.name for each in (tmp_path / "out" / "checkpoints").iterdir()] == [f"step-{last}"]
    ranks = [each.read_text() for each in (tmp_path / "runs").rglob("attempt_0/*/std*.log")]
    left = f"told to end: saving after step {last} and leaving"
    assert sum(log.count(left) for log in ranks) == 2 and run.log.count(left) == 1, run.log
    start_again(run)
    run.wait_for_line(f"Training starts at step {last + 1}", START_SECONDS)
