"""The settings of logs, evaluation and profiles that all targets share."""

import pytest

from parc.backends.observation import Observation, log_interval, problems
from tests.support.sample_plans import sample_job, sample_plan, train_of


@pytest.mark.parametrize(
    ("start", "stop", "profiled"), [(None, None, None), (10, None, (10, 12)), (5, 5, (5, 5))]
)
def test_profiled_steps(
    start: int | None, stop: int | None, profiled: tuple[int, int] | None
) -> None:
    assert Observation(profile_start=start, profile_stop=stop).profiled == profiled


@pytest.mark.parametrize(
    ("start", "stop", "complaint"),
    [
        (10, 12, None),
        (97, None, None),
        (98, None, "ends with step 100, and the run of 100 steps has no later step"),
        (12, 10, "comes before"),
        (None, 10, "`profile_start` is not set"),
    ],
)
def test_problems(start: int | None, stop: int | None, complaint: str | None) -> None:
    options = Observation(profile_start=start, profile_stop=stop)
    job = sample_job("toy", options, train=train_of(steps=100))
    found = list(problems(job, "toy"))
    assert [problem.code for problem in found] == ([] if complaint is None else ["PAR383"])
    assert complaint is None or complaint in found[0].message


@pytest.mark.parametrize(
    ("seconds", "given", "interval"),
    [(0.2, None, 10), (6.0, None, 10), (11.0, None, 5), (750.0, None, 1), (750.0, 20, 20)],
)
def test_a_run_of_long_steps_logs_more_often(
    seconds: float, given: int | None, interval: int
) -> None:
    plan = sample_plan("deepspeed", Observation(log_interval=given))
    estimate = plan.estimate.model_copy(update={"step_seconds": seconds})
    assert log_interval(plan.model_copy(update={"estimate": estimate})) == interval
