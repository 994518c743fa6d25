"""`parc reshape` as a user runs it: jobs, folders and scripts whose layouts differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import JOB, Parc, Ran

TARGETS = (
    'target megatron { data = "/data/text_document" }\ntarget torchtitan {}\ntarget deepspeed {}\n'
)
BASE = JOB[: JOB.index("target")] + TARGETS


def job(goal: str, name: str = "new.par") -> str:
    Path(name).write_text(BASE.replace("maximize mfu", f"maximize mfu; {goal}"))
    return name


def verdict(run: Parc, target: str, old: str, new: str) -> dict[str, Any]:
    """What is said of two layouts, each given by its goal."""
    names = job(old, "old.par"), job(new)
    found = run("reshape", *names, "--target", target, "--json")
    value: dict[str, Any] = json.loads(found.out)
    assert found.code == (value["resumes"] != "whole")
    return value


def compiled(run: Parc, job: str, *targets: str) -> Ran:
    named = [word for target in targets or ("megatron",) for word in ("--target", target)]
    return run("compile", job, "-o", "out", "--no-report", *named)


def words(text: str) -> str:
    return " ".join(text.split())


ONE, TWO = (
    "require tp == 1; require pp == 1; require zero == 1",
    "require tp == 2; require zero == 1",
)
#: Target, old goal, new goal, the answer, and what it stops with or None.
CHANGES = {
    "megatron tp": ("megatron", ONE, TWO, "no", "(TP, PP) mismatch after resume"),
    "megatron dp": (
        "megatron", f"{ONE}; require cp == 1", f"{ONE}; require cp == 2", "whole", None,
    ),
    "megatron format": (
        "megatron", ONE, "require zero == 3", "no", "not supported with Megatron FSDP",
    ),
    "megatron format back": ("megatron", "require zero == 3", ONE, "no", "taken for torch_dcp"),
    "torchtitan dp": (
        "torchtitan", "require dp == 8", "require dp == 4; require tp == 2", "no",
        "dp_degree is inconsistent before and after checkpoint",
    ),
    "torchtitan zero": (
        "torchtitan", "require dp == 8; require zero == 3", "require dp == 8; require zero == 2",
        "whole", None,
    ),
    "deepspeed stage": (
        "deepspeed", "require zero == 3", "require zero == 2; require pp == 1", "no",
        "stage 3 and the stages below it",
    ),
    "deepspeed pipeline": (
        "deepspeed", "require zero == 1; require pp == 1", "require zero == 1; require pp == 2", "no",
        "a pipeline saves layers by number",
    ),
    "deepspeed ranks": (
        "deepspeed", "require zero == 3; require cp == 1", "require zero == 3; require cp == 2",
        "whole", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_change_does(run: Parc, name: str) -> None:
    target, old, new, answer, stops = CHANGES[name]
    found = verdict(run, target, old, new)
    assert found["resumes"] == answer, found
    told = [change["stops"] for change in found["changes"] if change.get("stops")]
    assert any(stops in text for text in told) if stops else not told


def test_the_same_layout_resumes_whole(run: Parc) -> None:
    job(ONE)
    assert compiled(run, "new.par").code == 0
    found = run("reshape", "out", "new.par", "--target", "megatron")
    assert found.code == 0 and found.err == ""
    assert "NEW resumes OLD whole." in found.out
    assert "Nothing that a checkpoint depends on differs." in found.out


def test_a_folder_a_plan_and_a_script_tell_the_same(run: Parc) -> None:
    job(ONE, "old.par"), job(TWO)
    assert compiled(run, "old.par").code == 0
    ways = ("old.par", "out", "out/plan.json", "out/megatron/pretrain.sh")
    told = []
    for old in ways:
        found = run("reshape", old, "new.par", "--target", "megatron", "--json")
        value = json.loads(found.out)
        assert found.code == 1 and value["old"]["name"] == old
        told.append((value["resumes"], value["cures"], [each["name"] for each in value["changes"]]))
    assert all(each == told[0] for each in told)


def test_it_tells_what_to_run_and_what_the_old_job_lacked(run: Parc) -> None:
    names = job(ONE, "old.par"), job(TWO)
    out = words(run("reshape", *names, "--target", "megatron").out)
    assert "tp 1 → 2: stops (TP, PP) mismatch after resume" in out
    assert "--dist-ckpt-optim-fully-reshardable --exit-interval 1" in out
    assert "start NEW with `--no-load-optim`" in out and "loses optimizer's moments" in out
    assert "What OLD would have needed before its first run" in out


def test_a_reshardable_script_resumes(run: Parc) -> None:
    """The option of the script decides, and dropout tells whether random numbers are a loss."""
    job(ONE), job(TWO, "two.par")
    assert compiled(run, "new.par").code == 0
    script = Path("out/megatron/pretrain.sh")
    text = script.read_text().replace(
        "--ckpt-format torch_dist", "--ckpt-format torch_dist --dist-ckpt-optim-fully-reshardable"
    )
    Path("mine.sh").write_text(text)
    found = run("reshape", "mine.sh", "two.par", "--target", "megatron")
    assert found.code == 0 and "NEW resumes OLD whole." in found.out
    drawing = text.replace("--hidden-dropout 0", "--hidden-dropout 0.1")
    assert drawing != text
    Path("mine.sh").write_text(drawing)
    Path("two.par").write_text(
        Path("two.par").read_text().replace("seq_len", "dropout = 0.1; seq_len")
    )
    found = run("reshape", "mine.sh", "two.par", "--target", "megatron", "--json")
    assert found.code == 1 and json.loads(found.out)["parts"]["rng"] == "lost"


def test_another_framework_and_another_model_resume_nothing(run: Parc) -> None:
    job("require dp == 8"), job("require dp == 8", "deep.par")
    Path("deep.par").write_text(Path("deep.par").read_text().replace("layers = 4", "layers = 8"))
    assert compiled(run, "new.par", "megatron", "torchtitan").code == 0
    found = run("reshape", "out/torchtitan/launch.sh", "out/megatron/pretrain.sh")
    assert found.code == 1 and "megatron does not read checkpoints of torchtitan" in words(
        found.out
    )
    found = run("reshape", "out", "deep.par", "--target", "torchtitan")
    assert found.code == 1 and "another model: layers 4, then 8" in words(found.out)


@pytest.mark.parametrize("target", ["megatron", "deepspeed", "torchtitan"])
@pytest.mark.parametrize("kind", ["jobs", "folders"])
def test_another_training_is_no_change_of_layout(run: Parc, target: str, kind: str) -> None:
    """As a start in its folder says, which refuses it: not that it resumes whole."""
    text = Path(job("require tp == 1; require pp == 1", "old.par")).read_text()
    Path("new.par").write_text(text.replace("tokens = 1G", "tokens = 1G; learning_rate = 1e-3"))
    sides = ["old.par", "new.par"]
    if kind == "folders":
        for name in ("old", "new"):
            made = ("compile", f"{name}.par", "-o", f"out-{name}", "--no-report")
            assert run(*made, "--target", target).code == 0
        sides = ["out-old", "out-new"]
    found = run("reshape", *sides, "--target", target)
    assert found.code == 1 and "another training, train.learning_rate 0.0003, then 0.001" in words(
        found.out
    )
    assert "ANY_RUN=1" in found.out and "whole" not in found.out


def test_a_job_of_another_name_has_another_folder(run: Parc) -> None:
    job(ONE, "old.par"), job(ONE)
    found = run("reshape", "old.par", "new.par", "--target", "megatron")
    said = words(found.out)
    assert found.code == 0 and "start it with RUN_DIR=runs/old-megatron-" in said
    assert "RUN_DIR" not in run("reshape", "old.par", "old.par", "--target", "megatron").out


@pytest.mark.parametrize(
    ("sides", "code", "message"),
    [
        (["gone.sh", "job.par"], "PAR002", "there is no file `gone.sh`"),
        (["job.par", "wrong.par"], "PAR011", "unknown setting `layer` of `model`"),
        (["job.par", "bad/plan.json"], "PAR180", "holds no plan of parc"),
        (["other.sh", "job.par"], "PAR159", "starts no framework whose checkpoints parc knows"),
        (["bare", "job.par"], "PAR159", "has no files of megatron that start training"),
    ],
)
def test_what_cannot_be_read_is_said(run: Parc, sides: list[str], code: str, message: str) -> None:
    assert run("compile", "job.par", "-o", "bare", "--target", "megatron").code == 0
    Path("bare/megatron/pretrain.sh").unlink()
    Path("bad").mkdir()
    Path("bad/plan.json").write_text("[]")
    Path("other.sh").write_text("accelerate launch --num_processes 8 train.py --lr 1e-4\n")
    found = run("reshape", *sides)
    assert found.code == 2 and code in found.err and message in words(found.err)


def test_compiling_another_layout_into_a_folder_warns(run: Parc) -> None:
    """Once it breaks the resume, and not where the layout stays, or an elastic job goes on."""
    job(ONE), job(TWO, "two.par")
    out = ("-o", "out", "--no-report", "--target", "megatron")
    for name, warned in (
        ("new.par", False),
        ("new.par", False),
        ("two.par", True),
        ("two.par", False),
    ):
        found = run("compile", name, *out)
        assert found.code == 0 and ("PAR158" in found.err) == warned, found.err
        if warned:
            text = words(found.err)
            assert "a run of `out` would not go on in this layout" in text and "tp 1 → 2" in text
            assert "(TP, PP) mismatch after resume" in text and "--exit-interval 1" in text
    elastic = ("--set", "train.elastic=true")
    assert run("compile", "new.par", *out, *elastic).code == 0
    assert "PAR158" not in run("compile", "two.par", *out, *elastic).err


#: By target: a goal of an old layout and of a new one, a change between them, and the cure.
BROKEN = {
    "megatron": (ONE, TWO, "tp 1 → 2", "--exit-interval 1"),
    "torchtitan": ("require dp == 8", "require dp == 4", "dp 8 → 4", "train.elastic=true"),
    "deepspeed": (
        "require zero == 3; require pp == 1",
        "require zero == 2; require pp == 1",
        "zero 3 → 2",
        "goal { require zero == 3 }",
    ),
}
LAUNCHES = {
    "slurm": "launch slurm { time = 1 h }",
    "kubernetes": 'launch kubernetes { image = "a:1"; volumes = ["runs:/runs"] }',
    "hosts": 'launch hosts { hostfile = "hosts" }',
}


@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize("target", BROKEN)
def test_compile_warns_whatever_starts_the_run(run: Parc, target: str, launch: str) -> None:
    old, new, change, cure = BROKEN[target]
    for name, goal, warned in (("old.par", old, False), ("new.par", new, True)):
        path = Path(job(goal, name))
        path.write_text(f"{path.read_text()}\n{LAUNCHES[launch]}\n")
        found = compiled(run, name, target)
        assert found.code == 0 and ("PAR158" in found.err) == warned, found.err
    said = words(found.err)
    assert f"{target}: a run of `out` would not go on" in said and change in said and cure in said


def test_a_folder_of_another_model_warns_of_nothing(run: Parc) -> None:
    job(ONE), job(TWO, "deep.par")
    Path("deep.par").write_text(Path("deep.par").read_text().replace("layers = 4", "layers = 8"))
    for name in ("new.par", "deep.par"):
        found = run("compile", name, "-o", "out", "--no-report", "--target", "megatron")
        assert found.code == 0 and "PAR158" not in found.err
    Path("out/plan.json").write_text("[]")
    assert "PAR158" not in run("compile", "new.par", "-o", "out", "--target", "megatron").err
