"""The stages of a job become small together: one model, each begins with the weights of the one before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import parc
from parc.backends import BACKENDS
from parc.compiler.plan import Plan
from parc.smoke import Outcome, Request, Step, prepare
from parc.staging import plan_stages
from tests.smoke.test_shrunk_jobs import HERE

JOB = """
model tiny { layers = 4; hidden = 256; heads = 8; ffn = 512; vocab = 32000; position = %s }
cluster one from std.dgx_h100 { nodes = 1; gpus_per_node = 4 }
train { seq_len = 1024; global_batch = 64; learning_rate = 3e-4 }
stage main { steps = 100 }
stage long { steps = 10; %s }
goal { require zero >= 1 }
target %s { data = synthetic }
"""


LONGER = "seq_len = 4096; global_batch = 16"


def stages(target: str, folder: Path, position: str = "rope", long: str = LONGER) -> list[Plan]:
    job = folder / "job.par"
    job.write_text(JOB % (position, long, target))
    return plan_stages(parc.load(job)).by_target()[target]


@pytest.mark.parametrize("long", [LONGER, "carry = all"])
@pytest.mark.parametrize("target", ["megatron", "torchtitan", "deepspeed"])
def test_a_stage_is_told_where_the_one_before_left_its_weights(
    target: str, long: str, tmp_path: Path
) -> None:
    before = None
    for plan in stages(target, tmp_path, long=long):
        folder = tmp_path / plan.job.stage
        folder.mkdir()
        ready = prepare(plan, Request(HERE, 2, 4), folder, before)
        assert ready is not None and ready.plan.job.train.carry == "weights"
        if before is not None:
            assert ready.plan.job.previous == before.plan.job
            assert ready.plan.job.model == before.plan.job.model
            first, second = (Path(each.environment["RUN_DIR"]) for each in (before, ready))
            assert first.parent == second.parent and first != second
            script = (folder / BACKENDS[target].entry).read_text()
            assert first.name in script or str(tmp_path / "main") in script
        before = ready


def test_learned_positions_are_those_of_the_first_stage(tmp_path: Path) -> None:
    main, long = stages("deepspeed", tmp_path, "learned")
    first = prepare(main, Request(HERE, 2, 4), made(tmp_path / "first"))
    assert first is not None
    second = prepare(long, Request(HERE, 2, 4), made(tmp_path / "second"), first)
    assert second is not None
    most = first.plan.job.model.max_positions
    assert second.plan.job.model.max_positions == most
    assert most is None or second.plan.job.train.seq_len <= most


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def outcome(plan: Plan, losses: list[float], previous: Outcome | None = None) -> Outcome:
    steps = tuple(Step(number, loss, 1.0) for number, loss in enumerate(losses, 1))
    train = plan.job.train.model_copy(update={"tokens": None, "steps": len(losses)})
    small = plan.model_copy(update={"job": plan.job.model_copy(update={"train": train})})
    return Outcome(plan, small, steps, 0, previous=previous)


def test_a_stage_that_begins_with_drawn_weights_is_not_good(tmp_path: Path) -> None:
    main, long = stages("deepspeed", tmp_path)
    first = outcome(main, [5.5, 5.2, 4.9, 4.8])
    assert first.good and first.drawn == 5.5
    goes_on, anew = (outcome(long, [loss, loss - 0.3], first) for loss in (4.9, 5.5))
    assert goes_on.good and goes_on.drawn == 5.5
    assert anew.falls and not anew.follows and not anew.good
    level, lost = (outcome(long, [4.8, loss], first) for loss in (4.85, 5.5))
    assert level.good and not level.falls, "a few steps near the end of a fall"
    assert not lost.good and not replace(goes_on, steps=()).follows
    assert not outcome(main, [4.8, 4.85]).good
