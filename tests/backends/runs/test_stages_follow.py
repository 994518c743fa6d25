"""A stage begins with the weights that the one before ended with, in each framework's own terms."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import parc
from parc.__main__ import main
from parc.api import Planned, emit
from parc.backends import BACKENDS
from parc.compiler.plan import Plan, Proof
from parc.compiler.run import run_of
from parc.dsl.job import Job
from parc.printing.stage_text import sum_lines
from parc.staging import following, plan_stages
from tests.backends.runs.test_run_folders import TARGETS, start

PROOF = Proof(status="OPTIMAL", objective="mfu", value=1, bound=1, layouts=1, seconds=1)
JOB = """
model tiny {{ layers = 4; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster one from std.dgx_h100 {{ nodes = 2; gpus_per_node = 1 }}
train {{ seq_len = 256; global_batch = 4; {train} }}
stage main {{ steps = 20 }}
stage long {{ steps = 10; seq_len = 512; {long} }}
target {target} {{ {options} }}
launch slurm {{ partition = "x" }}
"""
#: Options by which each target reads the weights, and the file that tells of the last step of stage main.
READS = {
    "megatron": ("--pretrained-checkpoint={}", "latest_checkpointed_iteration.txt", "20"),
    "deepspeed": ("--begin={}", "latest", "step20"),
    "torchtitan": ("--checkpoint.initial_load_path={}/step-20", "step-20/.metadata", ""),
}
#: A file that a run has once it has saved.
SAVED = {"megatron": READS["megatron"][1], "deepspeed": "latest", "torchtitan": "step-3/.metadata"}


def stages(
    folder: Path,
    target: str,
    long: str = "",
    options: str = "",
    train: str = "",
    goal: str = "maximize mfu",
) -> tuple[Job, ...]:
    path = folder / "tiny.par"
    text = JOB.format(target=target, long=long, options=options, train=train)
    path.write_text(f"{text}goal {{ {goal} }}\n")
    return parc.load(path).stages


def plan_of(job: Job, target: str, **layout: int) -> Plan:
    estimate = parc.estimate(job, {"dp_shard": 2, **layout}, target)
    return Plan(job=job, target=target, estimate=estimate, proof=PROOF)


def written(folder: Path, target: str, options: str = "") -> tuple[Path, Path]:
    """The entry scripts of both stages, whose files are in `folder`/out."""
    found = []
    for job in stages(folder, target, options=options):
        plan = plan_of(job, target, zero=3 if target == "torchtitan" else 1)
        _, files = emit(Planned(job, (plan,)))
        for path, text in files.files.items():
            place = folder / "out" / job.stage / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        found.append(folder / "out" / job.stage / BACKENDS[target].entry)
    return found[0], found[1]


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_it_waits_for_the_last_checkpoint_and_reads_it(
    target: str, given: bool, tmp_path: Path
) -> None:
    """In the runs' own folders, and in those that the job names."""
    option, mark, text = READS[target]
    places = {
        "megatron": 'checkpoints = "kept"', "deepspeed": 'save = "kept"', "torchtitan": 'dump_folder = "kept"'
    }  # fmt: skip
    main, long = written(tmp_path, target, places[target] if given else "")
    assert start(main, tmp_path).returncode == 0
    early = start(long, tmp_path)
    assert early.returncode == 2 and early.stdout == ""
    assert "stage main has not ended" in early.stderr and "its last step, 20" in early.stderr
    runs = {
        each.stage: run_of(each, target).folder
        for each in stages(tmp_path, target, options=places[target] if given else "")
    }
    own = {
        stage: f"kept/{stage}{'/checkpoints' if target == 'torchtitan' else ''}" if given
        else f"{tmp_path}/runs/{run}/checkpoints"
        for stage, run in runs.items()
    }  # fmt: skip
    saved = tmp_path / own["main"] / mark
    saved.parent.mkdir(parents=True, exist_ok=True)
    saved.write_text(text)
    done = start(long, tmp_path)
    assert done.returncode == 0, done.stderr
    (word,) = (each for each in done.stdout.splitlines() if each.startswith(option.split("{}")[0]))
    assert (tmp_path / word.partition("=")[2]).resolve() == (
        tmp_path / option.format(own["main"]).partition("=")[2]
    ).resolve()
    saved.unlink()
    assert start(long, tmp_path).returncode == 2
    newest = tmp_path / own["long"] / SAVED[target]
    newest.parent.mkdir(parents=True, exist_ok=True)
    newest.write_text("step3" if target == "deepspeed" else "3")
    assert start(long, tmp_path).returncode == 0, "it goes on from its own"


def test_torchtitan_does_not_take_an_unfinished_checkpoint_for_its_own(tmp_path: Path) -> None:
    """It would begin with weights that are drawn wherever the folder is there (components/checkpoint.py)."""
    _, long = written(tmp_path, "torchtitan")
    place = tmp_path / "first" / "step-20"
    place.mkdir(parents=True)
    (place / ".metadata").touch()
    unfinished = tmp_path / "run" / "checkpoints" / "step-2"
    unfinished.mkdir(parents=True)
    done = start(long, tmp_path, RUN_DIR=f"{tmp_path}/run", PREVIOUS=f"{tmp_path}/first")
    assert done.returncode == 0 and not unfinished.parent.exists(), done.stderr


def test_another_first_stage_is_another_run(tmp_path: Path) -> None:
    names = [
        [run_of(each, "deepspeed").digest for each in stages(tmp_path, "deepspeed", train=train)]
        for train in ("", "seed = 7")
    ]
    assert len({digest for each in names for digest in each}) == 4
    first, changed = (
        run_of(stages(tmp_path, "deepspeed", long=long)[1], "deepspeed").decided
        for long in ("", "seed = 7")
    )
    assert first["train.begins"] == changed["train.begins"]


def test_weights_are_those_of_the_first_stage_or_its_own(tmp_path: Path) -> None:
    main, long = stages(tmp_path, "deepspeed", train='weights = "hf"')
    assert (main.train.weights, long.train.weights, long.previous) == ("hf", None, main)
    _, long = stages(tmp_path, "deepspeed", long='weights = "own"', train='weights = "hf"')
    assert (long.train.weights, long.previous) == ("own", None)


#: Layouts of the first stage and of the second one's best plan, and what the second one's needs.
UNREAD = {
    "megatron": ({"zero": 1}, {"zero": 2}, ["zero <= 1"]),
    "megatron back": ({"zero": 3}, {"zero": 1}, ["zero >= 2"]),
    "deepspeed": ({"zero": 1}, {"zero": 3}, ["zero <= 2"]),
    "deepspeed back": ({"zero": 3}, {"zero": 2}, ["zero == 3"]),
    "deepspeed pp": ({"zero": 1}, {"zero": 1, "pp": 2, "dp_shard": 1}, ["pp == 1"]),
}


def first_plan(folder: Path, name: str) -> Plan:
    target = name.split()[0]
    return plan_of(stages(folder, target)[0], target, **UNREAD[name][0])


def followed(folder: Path, name: str, goal: str = "maximize mfu") -> Planned:
    previous = first_plan(folder, name)
    _, long = stages(folder, previous.target, goal=goal)
    plan = plan_of(long, previous.target, **UNREAD[name][1])
    return following(Planned(long, (plan,)), {plan.target: previous})


@pytest.mark.parametrize("name", UNREAD)
def test_a_stage_takes_a_layout_that_reads_the_one_before(name: str, tmp_path: Path) -> None:
    found = followed(tmp_path, name)
    (plan,), conditions = found.plans, UNREAD[name][2]
    assert not found.complaints and plan.follows
    assert (plan.follows.stage, list(plan.follows.conditions)) == ("main", conditions)
    # As the solver finds it where the job says so itself.
    needs = BACKENDS[plan.target].follows(first_plan(tmp_path, name), plan.job)
    require = "".join(f"; require {each.text}" for each in needs if each.name != "tp")
    _, long = stages(tmp_path, plan.target, goal=f"maximize mfu{require}")
    assert plan.layout == parc.compile(long)[0].layout
    again = following(Planned(plan.job, (plan,)), {plan.target: plan})
    assert again.plans == (plan,), "what it takes needs nothing more"


@pytest.mark.parametrize("name", UNREAD)
def test_where_none_does_it_is_refused(name: str, tmp_path: Path) -> None:
    _, after, conditions = UNREAD[name]
    fixed = "; ".join(f"require {key} == {value}" for key, value in after.items())
    found = followed(tmp_path, name, f"maximize mfu; {fixed}")
    ((_, complaint),) = found.complaints
    assert complaint.code == "PAR046" and not found.plans
    assert f"`require {conditions[0]}`" in complaint.message
    assert "stage `long` cannot load the weights of `main`" in complaint.message
    assert complaint.span is not None and complaint.span.text.startswith("stage long")
    assert complaint.help and "which holds for each stage" in complaint.help


def test_the_price_of_following_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The best layout of the long stage is Megatron-FSDP, whose format the first one does not write."""
    text = """
model m from std.llama3_8b {}
cluster c from std.dgx_h100 { nodes = 1 }
train { seq_len = 4096; global_batch = 64 }
stage main { steps = 100 }
stage long { seq_len = 8192; steps = 20 }
goal { maximize mfu; require zero <= 1 or train.seq_len == 8192 }
target megatron { data = "/d" }
"""
    path = tmp_path / "eight.par"
    path.write_text(text)
    assert main(["plan", str(path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "`zero <= 1`, to load the weights of `main`, " in shown and "% longer than with" in shown
    assert main(["plan", str(path), "--json"]) == 0
    first, long = (each["plans"][0] for each in json.loads(capsys.readouterr().out)["stages"])
    assert "follows" not in first and long["follows"]["require"] == ["zero <= 1"]
    assert long["follows"]["best"]["layout"]["zero"] >= 2 > long["layout"]["zero"]


def test_a_stage_without_checkpoints_is_not_followed(tmp_path: Path) -> None:
    main, long = stages(tmp_path, "deepspeed", options="save = none")
    found = following(
        Planned(long, (plan_of(long, "deepspeed", zero=1),)),
        {"deepspeed": plan_of(main, "deepspeed", zero=1)},
    )
    assert "it writes none" in found.complaints[0][1].message


def test_one_script_submits_all_stages(tmp_path: Path) -> None:
    written(tmp_path, "deepspeed")
    assert not (tmp_path / "out/main/slurm/deepspeed-stages.sh").exists()
    submit = tmp_path / "sbatch"
    submit.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$PARC_OUT" "$@" >>log\necho "$(wc -l <log);cluster"\n'
    )
    submit.chmod(0o755)
    done = subprocess.run(
        ["bash", tmp_path / "out/long/slurm/deepspeed-stages.sh", "--nice"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    assert (tmp_path / "log").read_text().splitlines() == [
        f"{out}/main", "--parsable", f"{out}/main/slurm/deepspeed.sbatch", "--nice",
        f"{out}/long", "--parsable", "--dependency=afterok:4", "--kill-on-invalid-dep=yes",
        f"{out}/long/slurm/deepspeed.sbatch", "--nice",
    ]  # fmt: skip


def test_the_plan_says_that_they_follow(tmp_path: Path) -> None:
    for long, said in (
        ("", ", each from the last weights of the one before"),
        ('weights = "own"', ""),
    ):
        path = tmp_path / "tiny.par"
        path.write_text(JOB.format(target="deepspeed", long=long, options="", train=""))
        assert (
            sum_lines(plan_stages(parc.load(path)))[0] == f"tiny  2 stages, one after another{said}"
        )
