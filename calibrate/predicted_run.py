"""A log of a run of a job -> what was predicted of that very layout, beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from ..compiler.memory.peak import context_bytes
from ..compiler.plan import Estimate, Measured
from ..compiler.pricing.estimate import estimate_layout
from ..compiler.risk import band
from ..compiler.search.measured_layouts import outcome
from ..dsl.job import Job
from .log_files import log_of, text_of
from .measured_run import MeasuredRun, measured_run


@dataclass(frozen=True)
class Part:
    """Seconds of a part of a step, or bytes, as predicted and as a log tells."""

    name: str
    predicted: float
    measured: float


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

    @property
    def known(self) -> Measured | None:
        """The outcome of the layout in runs that the cluster's file holds."""
        return outcome(self.run.case, self.predicted.layout.model_dump())

    @property
    def parts(self) -> tuple[Part, ...]:
        """Parts of a step by the framework's timers: the passes with all traffic that is waited for in them,
        the optimizer, and what lies between, such as data and logging, for which nothing is predicted.
        """
        step, timers = self.predicted.step_seconds, self.run.timers
        optimizer = self.predicted.time.get("optimizer", 0.0)
        told = {"passes": step - optimizer, "optimizer": optimizer}
        found = [Part(name, told[name], timers[name]) for name in told if name in timers]
        if len(found) == len(told):
            rest = self.run.steps.seconds - sum(part.measured for part in found)
            found.append(Part("between", 0.0, max(rest, 0.0)))
        return tuple(found)

    @property
    def memory(self) -> Part | None:
        """Bytes that PyTorch reserved on the fullest GPU: without what the driver and NCCL keep beside it."""
        if self.run.reserved is None:
            return None
        own = self.predicted.memory_bytes - context_bytes(self.run.case)
        return Part("memory", own, self.run.reserved)


def ran(job: Job, path: str) -> Ran:
    """Raises JobError for a log that cannot be read, or is not of the job."""
    run = measured_run(path, log_of([job], path, text_of(path)), job, {})
    return Ran(run, estimate_layout(run.case, run.layout, run.placement))
