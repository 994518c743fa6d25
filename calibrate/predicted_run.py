"""A log of a run of a job -> what was predicted of that very layout, beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from ..compiler.plan import Estimate
from ..compiler.pricing.estimate import estimate_layout
from ..compiler.risk import band
from ..dsl.job import Job
from .log_files import log_of, text_of
from .measured_run import MeasuredRun, measured_run


@dataclass(frozen=True)
class Ran:
    """A run and its prediction; `filled` are decisions that the log does not tell."""

    run: MeasuredRun
    predicted: Estimate

    @property
    def ratio(self) -> float:
        """Measured over predicted time of a step."""
        return self.run.steps.seconds / self.predicted.step_seconds

    @property
    def expected(self) -> bool:
        """Whether the step's time lies in the band of four of five runs."""
        low, high = band(self.predicted.step_seconds, self.predicted.step_spread)
        return low <= self.run.steps.seconds <= high

    @property
    def mfu(self) -> float:
        """The measured one: model FLOP are the same."""
        return self.predicted.mfu / self.ratio

    @property
    def tokens_per_second(self) -> float:
        return self.predicted.tokens_per_second / self.ratio


def ran(job: Job, path: str) -> Ran:
    """Raises JobError for a log that cannot be read, or is not of the job."""
    run = measured_run(path, log_of(job, path, text_of(path)), job, {})
    return Ran(run, estimate_layout(run.case, run.layout, run.placement))
