"""A run has a folder of its own, and no start goes on with another run's checkpoints."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import parc
from parc.api import Planned, emit
from parc.backends import BACKENDS
from parc.backends.log import Announced, RunLog, with_announced
from parc.compiler.plan import Plan, Proof
from parc.compiler.run import Run, run_of

PROOF = Proof(status="OPTIMAL", objective="mfu", value=1, bound=1, layouts=1, seconds=1)
JOB = """
model tiny {{ layers = 2; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster one from std.dgx_h100 {{ nodes = 2; gpus_per_node = 1 }}
train {{ seq_len = 256; global_batch = 4; steps = 20; {train} }}
target {target} {{ {options} }}
{more}
"""
TARGETS = {"megatron": "checkpoints", "deepspeed": "save", "torchtitan": "dump_folder"}
LAUNCH = 'launch slurm { container = "image"; mounts = "/data:/data" }'


def job_of(
    folder: Path, target: str, train: str = "", options: str = "", more: str = ""
) -> parc.Job:
    path = folder / "tiny.par"
    path.write_text(JOB.format(target=target, train=train, options=options, more=more))
    return parc.load(path)


def plan_of(job: parc.Job, target: str) -> Plan:
    estimate = parc.estimate(job, {"dp_shard": 2, "zero": 1 + (target == "torchtitan") * 2}, target)
    return Plan(job=job, target=target, estimate=estimate, proof=PROOF)


def written(folder: Path, name: str, target: str, train: str = "", options: str = "") -> Path:
    """The entry script of a job whose files are in `folder`/name."""
    job = job_of(folder, target, train, options)
    _, files = emit(Planned(job, (plan_of(job, target),)))
    for path, text in files.files.items():
        place = folder / name / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder / name / BACKENDS[target].entry


def start(script: Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Starts a script in `folder` with a torchrun that prints its words and the run's folder."""
    (folder / "torchrun").write_text('#!/bin/sh\nprintf "%s\\n" "$@" "RUN_DIR=$RUN_DIR"\n')
    (folder / "torchrun").chmod(0o755)
    place = {"NNODES": "2", "NODE_RANK": "0", "MASTER_ADDR": "first"}
    environment = {"PATH": f"{folder}:/usr/bin:/bin", **place, **variables}
    return subprocess.run(
        ["bash", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


def run(tmp_path: Path, train: str = "", options: str = "", more: str = "") -> Run:
    return run_of(job_of(tmp_path, "deepspeed", train, options, more), "deepspeed")


@pytest.mark.parametrize(
    "train",
    [
        "learning_rate = 1e-3",
        "seed = 7",
        "precision = fp16",
        "beta2 = 0.99",
        'weights = "a"',
        "warmup = 3",
    ],
)
def test_what_decides_the_training_names_another_folder(train: str, tmp_path: Path) -> None:
    plain, other = run(tmp_path), run(tmp_path, train)
    assert other.name == plain.name == "tiny-deepspeed" and other.digest != plain.digest
    differing = dict(set(other.decided.items()) - set(plain.decided.items()))
    assert f"train.{train.partition(' ')[0]}" in differing


@pytest.mark.parametrize(
    "train",
    [
        "checkpoint_interval = 7",
        "compile = true",
        "keep_checkpoints = 2",
        "async_checkpoints = true",
    ],
)
def test_how_it_is_run_does_not(train: str, tmp_path: Path) -> None:
    options = 'log_interval = 3; adam = "torch"; version = "0.18"'
    more = 'goal { require zero == 1 }\nlaunch slurm { partition = "x" }'
    assert run(tmp_path, train, options, more) == run(tmp_path)


def test_data_and_other_settings_of_the_framework_do(tmp_path: Path) -> None:
    digests = {
        run(tmp_path, options=options).digest
        for options in (
            "",
            'data = "a.bin"',
            'data = "b.bin"',
            "extra = { prescale_gradients = true }",
        )
    }
    assert len(digests) == 4


def test_what_the_search_chooses_does_not(tmp_path: Path) -> None:
    """It goes with the layout, and a layout may change during a run."""
    left = run(tmp_path, options="accumulate = {fp32, compute}")
    assert left == run(tmp_path) != run(tmp_path, options="accumulate = compute")


def test_what_takes_no_time_changes_no_digest_of_steps(tmp_path: Path) -> None:
    """Nor does what a later release adds: settings are left out that have their defaults."""
    plain = run(tmp_path).step_digest
    for train in ("learning_rate = 1e-3", "seed = 7", "warmup = 3"):
        assert run(tmp_path, train).step_digest == plain
    others = ("precision = fp16", "compile = true", "optimizer = adam8bit", "dropout = 0.1")
    assert len({plain, *(run(tmp_path, train).step_digest for train in others)}) == 5
    tunes = ("full", "lora", "qlora", "lora; adapter_rank = 8")
    tuned = [run(tmp_path, f'weights = "here"; tune = {tune}').step_digest for tune in tunes]
    assert tuned[0] == plain and len(set(tuned)) == len(tunes)


@pytest.mark.parametrize("target", TARGETS)
def test_a_log_begins_with_its_run_and_job(target: str, tmp_path: Path) -> None:
    """On each node, since the last one may have the losses."""
    train = "learning_rate = 1e-3"
    script = written(tmp_path, "one", target, train)
    known = run_of(job_of(tmp_path, target, train), target)
    for node in ("0", "1"):
        done = start(script, tmp_path, NODE_RANK=node)
        assert done.returncode == 0, done.stderr
        first = done.stdout.splitlines()[0]
        assert first == f"parc run {known.folder} of job {known.step_digest}"
        log = with_announced(RunLog(target, "seconds", ()), f"{node}: {done.stdout}")
        assert log.announced == Announced(known.folder, known.step_digest) and not log.clashes


@pytest.mark.parametrize("target", TARGETS)
def test_two_jobs_of_one_folder_never_meet(target: str, tmp_path: Path) -> None:
    folders = []
    for name, train in (("one", ""), ("two", "learning_rate = 1e-3")):
        done = start(written(tmp_path, name, target, train), tmp_path)
        assert done.returncode == 0, done.stderr
        *words, said = done.stdout.splitlines()
        folders.append(said.removeprefix("RUN_DIR="))
        assert Path(folders[-1]).is_absolute()
        assert any(folders[-1] in word for word in words), "where its checkpoints are"
    assert len(set(folders)) == 2
    assert f"{folders[0]} holds a run of this job with other settings" in done.stderr


@pytest.mark.parametrize("target", TARGETS)
def test_another_runs_folder_is_refused(target: str, tmp_path: Path) -> None:
    """The folder of the run, and a folder of checkpoints that both jobs name."""
    for kept in ("run", "kept"):
        options = f'{TARGETS[target]} = "{tmp_path}/{kept}"' if kept == "kept" else ""
        variables = {"RUN_DIR": f"{tmp_path}/run"} if kept == "run" else {}
        first = written(tmp_path, f"one {kept}", target, "learning_rate = 1e-3", options)
        second = written(tmp_path, f"two {kept}", target, "learning_rate = 2e-3", options)
        for node in ("0", "1", "0"):
            assert start(first, tmp_path, NODE_RANK=node, **variables).returncode == 0
        for node in ("0", "1"):
            refused = start(second, tmp_path, NODE_RANK=node, **variables)
            assert refused.returncode == 2 and refused.stdout == ""
            assert f"{tmp_path}/{kept} holds another run, of which this differs:" in refused.stderr
            assert 'was  "train.learning_rate": 0.001,' in refused.stderr
            assert 'now  "train.learning_rate": 0.002,' in refused.stderr
            assert "was" not in refused.stderr.replace('was  "train.learning_rate"', "")
        assert start(second, tmp_path, ANY_RUN="1", **variables).returncode == 0
        assert start(second, tmp_path, **variables).returncode == 0
        assert start(first, tmp_path, **variables).returncode == 2


def test_a_renamed_folder_is_explained(tmp_path: Path) -> None:
    script = written(tmp_path, "one", "deepspeed")
    assert start(script, tmp_path).stderr == ""
    (folder,) = (tmp_path / "runs").iterdir()
    folder.rename(tmp_path / "runs" / "old")
    said = start(script, tmp_path).stderr
    assert f"RUN_DIR={tmp_path}/runs/old goes on there: {folder} is new" in said
    assert start(script, tmp_path).stderr == ""


def test_a_folder_that_cannot_be_written_stops_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = start(written(tmp_path, "one", "deepspeed"), tmp_path, RUN_DIR=f"{tmp_path}/file/x")
    assert done.returncode == 2 and done.stdout == ""
    assert f"cannot write to {tmp_path}/file/x: set RUN_DIR to another folder" in done.stderr


def test_the_renamed_job_goes_on(tmp_path: Path) -> None:
    """A job's name does not decide how it trains."""
    script = written(tmp_path, "one", "deepspeed")
    assert start(script, tmp_path, RUN_DIR="kept").returncode == 0
    told = tmp_path / "kept" / "run.json"
    told.write_text(told.read_text().replace("tiny-", "renamed-"))
    assert start(script, tmp_path, RUN_DIR="kept").returncode == 0
    assert json.loads(told.read_text())["train.steps"] == 20


def test_a_container_sees_the_folders(tmp_path: Path) -> None:
    """pyxis begins in the image's folder, in a container that goes with the step."""
    job = job_of(tmp_path, "deepspeed", more=LAUNCH)
    _, files = emit(Planned(job, (plan_of(job, "deepspeed"),)))
    text = files.files["slurm/deepspeed.sbatch"]
    assert '--container-workdir="$SLURM_SUBMIT_DIR"' in text
    own = ",".join(f"${name}:${name}" for name in ("PARC_OUT", "RUN_DIR", "SLURM_SUBMIT_DIR"))
    assert f'--container-mounts="{own},/data:/data"' in text
    assert f"$SLURM_SUBMIT_DIR/runs/{run_of(job, 'deepspeed').folder}" in text
