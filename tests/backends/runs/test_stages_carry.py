"""A stage that carries all goes on at the step of the one before, with its moments and place in the data."""

from __future__ import annotations

from pathlib import Path

import pytest

import parc
from parc.api import Planned, emit
from parc.backends import BACKENDS
from parc.dsl import JobError
from parc.dsl.job import Job
from parc.printing.stage_text import sum_lines
from parc.staging import following, plan_stages
from tests.backends.runs.test_run_folders import TARGETS, start
from tests.backends.runs.test_stages_follow import READS, SAVED, plan_of
from tests.support.read_back import assert_plan_is_back

JOB = """
model tiny {{ layers = 4; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster one from std.dgx_h100 {{ nodes = 2; gpus_per_node = 1 }}
train {{ seq_len = 256; global_batch = 4; warmup = 5; {train} }}
stage main {{ steps = 20; schedule = constant }}
stage cool {{ {length}; schedule = wsd; decay_steps = 10; carry = all; {cool} }}
target {target} {{ }}
"""
ZERO = {"megatron": 1, "deepspeed": 1, "torchtitan": 3}


def stages(
    folder: Path, target: str, cool: str = "", train: str = "", length: str = "steps = 10"
) -> tuple[Job, ...]:
    path = folder / "tiny.par"
    path.write_text(JOB.format(target=target, cool=cool, train=train, length=length))
    return parc.load(path).stages


def files(folder: Path, target: str) -> dict[str, Path]:
    found = {}
    for job in stages(folder, target):
        _, made = emit(Planned(job, (plan_of(job, target, zero=ZERO[target]),)))
        for path, text in made.files.items():
            place = folder / "out" / job.stage / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        found[job.stage] = folder / "out" / job.stage / BACKENDS[target].entry
    return found


def test_its_steps_are_those_of_both_and_its_time_is_its_own(tmp_path: Path) -> None:
    main, cool = stages(tmp_path, "torchtitan")
    assert (cool.train.total_steps, cool.steps_before, cool.own_steps) == (30, 20, 10)
    assert (main.train.total_steps, main.steps_before, main.train.carry) == (20, 0, "weights")
    days = [plan_of(job, "torchtitan", zero=3).estimate.days for job in (main, cool)]
    assert days[0] == pytest.approx(2 * days[1])
    (cool,) = stages(tmp_path, "torchtitan", length="tokens = 10_240")[1:]
    assert (cool.train.total_steps, cool.train.tokens) == (30, None)


@pytest.mark.parametrize("target", TARGETS)
def test_it_begins_with_all_of_the_last_checkpoint(target: str, tmp_path: Path) -> None:
    scripts = files(tmp_path, target)
    texts = "".join(each.read_text() for each in sorted(scripts["cool"].parent.iterdir()))
    said = {
        "megatron": ("--train-iters 30", "--override-opt_param-scheduler"),
        "deepspeed": ('"--steps", type=int, default=30', 'return state["step"]'),
        "torchtitan": ("steps = 30", "initial_load_model_only = false"),
    }
    assert all(each in texts for each in said[target])
    assert "--pretrained-checkpoint" not in texts and "load_module_only" not in texts
    early = start(scripts["cool"], tmp_path)
    assert early.returncode == 2 and "stage main has not ended" in early.stderr
    _, mark, text = READS[target]
    saved = tmp_path / "first" / mark
    saved.parent.mkdir(parents=True)
    saved.write_text(text)
    given = {"PREVIOUS": f"{tmp_path}/first", "RUN_DIR": f"{tmp_path}/run"}
    option = {
        "megatron": "--load={}",
        "deepspeed": "--begin={}",
        "torchtitan": "--checkpoint.initial_load_path={}/step-20",
    }[target]
    done = start(scripts["cool"], tmp_path, **given)
    assert done.returncode == 0, done.stderr
    assert option.format(given["PREVIOUS"]) in done.stdout.splitlines()
    newest = tmp_path / "run" / "checkpoints" / SAVED[target]
    newest.parent.mkdir(parents=True, exist_ok=True)
    newest.write_text("step23" if target == "deepspeed" else "23")
    again = start(scripts["cool"], tmp_path, **given)
    assert again.returncode == 0, again.stderr
    if target == "megatron":
        assert f"--load={tmp_path}/run/checkpoints" in again.stdout.splitlines()


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_emitted_is_read_back(target: str, tmp_path: Path) -> None:
    job = stages(tmp_path, target)[1]
    plan = plan_of(job, target, zero=ZERO[target])
    _, made = emit(Planned(job, (plan,)))
    assert_plan_is_back(plan, made.files)


NEEDS = {
    "megatron": ({"zero": 1}, {"zero": 1, "pp": 2, "dp_shard": 1}, "pp == 1"),
    "megatron zero": ({"zero": 1}, {"zero": 0, "dp_shard": 1, "dp_replicate": 2}, "zero == 1"),
    "deepspeed": ({"zero": 1}, {"zero": 1, "pp": 2, "dp_shard": 1}, "pp == 1"),
    "torchtitan": ({"zero": 3}, {"zero": 3, "cp": 2, "dp_shard": 1}, "dp == 2"),
}


@pytest.mark.parametrize("name", NEEDS)
def test_its_layout_loads_moments_and_position(name: str, tmp_path: Path) -> None:
    target, (before, after, condition) = name.split()[0], NEEDS[name]
    main, cool = stages(tmp_path, target)
    first = {target: plan_of(main, target, **before)}
    found = following(Planned(cool, (plan_of(cool, target, **after),)), first)
    (plan,) = found.plans
    assert plan.follows and condition in plan.follows.conditions
    assert following(Planned(plan.job, (plan,)), first).plans == (plan,)


def test_the_sums_say_what_is_carried(tmp_path: Path) -> None:
    stages(tmp_path, "deepspeed")
    head = sum_lines(plan_stages(parc.load(tmp_path / "tiny.par")))[0]
    assert head.endswith(", each from the last checkpoint of the one before")


@pytest.mark.parametrize(
    ("cool", "train", "message"),
    [
        ("seq_len = 512", "", "`carry = all` goes on from seq_len 256, and the stage says 512"),
        ("learning_rate = 1e-3", "", "learning_rate 0.0003, and the stage says 0.001"),
        ("optimizer = sgd", "", "optimizer adam, and the stage says sgd"),
        ('weights = "hf"', "", "names weights of its own"),
        ("", "ramp_from = 1; ramp_tokens = 10_000", "steps of one batch, and the batch grows"),
    ],
)
def test_what_a_checkpoint_keeps_cannot_change(
    cool: str, train: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(JobError) as caught:
        stages(tmp_path, "megatron", cool, train)
    found = [each for each in caught.value.diagnostics if message in each.message]
    assert found and all(each.code == "PAR047" and each.help for each in found)


def test_a_first_stage_has_nothing_to_go_on_from(tmp_path: Path) -> None:
    main, cool = stages(tmp_path, "megatron", train="carry = all")
    assert (main.train.carry, cool.train.carry) == ("weights", "all")
    path = tmp_path / "one.par"
    text = JOB.format(target="megatron", cool="", train="steps = 30; carry = all", length="")
    path.write_text("\n".join(each for each in text.splitlines() if "stage" not in each))
    with pytest.raises(JobError, match="has no stage before it"):
        parc.load(path)
