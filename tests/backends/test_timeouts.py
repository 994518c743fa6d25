"""How long ranks wait for each other: with the job's word, without it, and what is read back."""

from __future__ import annotations

import pytest

from parc.backends.deepspeed import BACKEND as DEEPSPEED
from parc.backends.megatron.options import Options
from parc.backends.timeouts import first_seconds, later_seconds
from parc.compiler.plan import Checkpoint, Plan
from tests.support.megatron_plans import plan_of, script_of
from tests.support.sample_plans import sample_plan

MINUTES, AFTERWARDS = "--distributed-timeout-minutes", "--distributed-timeout-seconds-after-init"


def with_step(seconds: float, write_seconds: float | None = None) -> Plan:
    plan = plan_of()
    changed = {
        "step_seconds": seconds,
        "checkpoint": Checkpoint(bytes=1e12, write_seconds=write_seconds),
    }
    return plan.model_copy(update={"estimate": plan.estimate.model_copy(update=changed)})


@pytest.mark.parametrize(
    ("step", "write", "later"),
    [(11.0, None, 600), (290.0, None, 600), (750.0, None, 1500), (133.0, 400.0, 1080)],
)
def test_a_hang_is_told_from_a_long_step_or_write(
    step: float, write: float | None, later: int
) -> None:
    plan = with_step(step, write)
    assert (first_seconds(plan), later_seconds(plan)) == (3600, later)
    assert f"{AFTERWARDS} {later}" in script_of(plan)


def test_the_job_says_it_for_the_whole_run() -> None:
    script = script_of(plan_of(collective_timeout=1830.0))
    assert f"{MINUTES} 31" in script and AFTERWARDS not in script


def test_a_release_with_one_limit_takes_the_first() -> None:
    script = script_of(plan_of(options=Options(version="0.14")))
    assert f"{MINUTES} 60" in script and AFTERWARDS not in script


@pytest.mark.parametrize("key", ["distributed-timeout-minutes", "distributed_timeout_minutes"])
def test_extra_goes_before(key: str) -> None:
    script = script_of(plan_of(options=Options(extra={key: 5})))
    assert script.count("--distributed-timeout-") == 1 and f"{MINUTES} 5" in script


def test_deepspeed_changes_all_groups_after_its_first_step() -> None:
    script = DEEPSPEED.emit(sample_plan("deepspeed"))["deepspeed/train.py"]
    assert "FIRST_TIMEOUT = timedelta(seconds=3600)" in script
    assert "LATER_TIMEOUT = timedelta(seconds=600)" in script
    first = script.index("if step == resumed:\n            limit_collectives(LATER_TIMEOUT)")
    assert script.index("train_step(engine, batches)") < first < script.index("step += 1\n")
