"""A job, a target and the price of a layout -> when checkpoints are written, and what they take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from ..dsl.diagnostics import Diagnostic
from ..dsl.job import Job
from .codes import NO_SPACE

if TYPE_CHECKING:
    from .plan import Estimate

#: Work between checkpoints where nothing is known of the cluster's failures: an hour, the interval that
#: arXiv 2410.21680 assumes of the jobs of Meta's research clusters; longer where writing would take more than
#: one part of the time in so many.
UNKNOWN_INTERVAL_SECONDS, WRITING_PARTS = 3600.0, 100
#: Seconds before the wall time at which SLURM asks for a last checkpoint, at least, and those for writing it.
SIGNAL_SECONDS, WRITING_SECONDS = 600.0, 300.0
TB = 1e12
#: How many checkpoints a start has time for, at least, besides the last one.
IN_A_START = 3
#: Checkpoints that stay unless the job says how many: torchtitan's default (checkpoint.keep_latest_k).
KEPT = 10
#: The newest one, and the one that is being written, which may come to nothing: torchtitan keeps no fewer.
LEAST_KEPT = 2


@dataclass(frozen=True)
class Checkpointing:
    """The checkpoints of a run of one layout."""

    job: Job
    target: str
    estimate: Estimate

    @property
    def signal_seconds(self) -> float:
        """The seconds that are left of the wall time when SLURM asks for a last checkpoint: the job's, else
        enough for the step that has begun and for writing; 0 where the target writes none."""
        if not self.job.saves(self.target):
            return 0.0
        given = self.job.launch.signal if self.job.launch else None
        if given is not None:
            return given
        written = self.estimate.checkpoint.write_seconds or 0.0
        return max(SIGNAL_SECONDS, self.estimate.step_seconds + max(WRITING_SECONDS, 2 * written))

    @property
    def start_seconds(self) -> float | None:
        """The seconds that a start has for training; None where the job names no wall time."""
        launch = self.job.launch
        return launch.time - self.signal_seconds if launch and launch.time is not None else None

    @property
    def starts(self) -> int | None:
        """How many starts the run takes; None where the job names no wall time, or one without room."""
        start = self.start_seconds
        return ceil(self.estimate.days * 86400 / start) if start and start > 0 else None

    @property
    def interval_steps(self) -> int:
        """Steps between checkpoints: the job's, else what suits the cluster's failures, or an hour of steps
        where nothing is known of them; then at most a third of what a start trains."""
        if self.job.train.checkpoint_interval is not None:
            return self.job.train.checkpoint_interval
        found, step = self.estimate.goodput, self.estimate.step_seconds
        fitting = found.interval_steps if found else max(1, round(self._unknown_interval / step))
        if self.start_seconds is None:
            return fitting
        return max(1, min(fitting, int(self.start_seconds / IN_A_START / step)))

    @property
    def _unknown_interval(self) -> float:
        written = self.estimate.checkpoint.write_seconds or 0.0
        return max(UNKNOWN_INTERVAL_SECONDS, WRITING_PARTS * written)

    @property
    def interval_seconds(self) -> float:
        return self.interval_steps * self.estimate.step_seconds

    @property
    def written(self) -> int:
        """Checkpoints of the whole run, with that of its last step."""
        return ceil(self.job.own_steps / self.interval_steps)

    @property
    def keep(self) -> int:
        """How many stay at most: the job's, else what there is space for; 0 keeps all."""
        given = self.job.train.keep_checkpoints
        if given is not None:
            return given
        return KEPT if self.room is None else max(LEAST_KEPT, min(KEPT, self.room))

    @property
    def room(self) -> int | None:
        """How many there is space for beside the one that is being written; None where that is not known."""
        space = self.job.cluster.checkpoint_space
        return None if space is None else int(space / (self.estimate.checkpoint.bytes or 1)) - 1

    @property
    def kept(self) -> int:
        """How many stay of the run."""
        return min(self.written, self.keep or self.written)

    @property
    def retained_steps(self) -> int:
        """The steps from one to the next where those that stay are taken from all of the run: whole
        intervals."""
        return spread(self.job.own_steps, self.interval_steps, self.keep)


def crowded(found: Checkpointing) -> Iterator[Diagnostic]:
    """A warning where those that stay, and the next one, do not fit into the cluster's space."""
    job, room = found.job, found.room
    if room is None or not job.saves(found.target) or found.kept <= room:
        return
    each = found.estimate.checkpoint.bytes
    space = job.cluster.checkpoint_space or 0
    message = (
        f"{found.target} keeps {found.kept:,} checkpoints of {each / TB:.3g} TB and writes the next one "
        f"beside them; `checkpoint_space` is {space / TB:.3g} TB"
    )
    fewer = f"`keep_checkpoints = {room}` in `train`, or more space"
    help = fewer if room >= LEAST_KEPT else f"{(LEAST_KEPT + 1) * each / TB:.3g} TB hold the fewest"
    span = job.span("train", "keep_checkpoints") or job.span("cluster", "checkpoint_space")
    yield Diagnostic(NO_SPACE, message, span, severity="warning", help=help)


def spread(steps: int, interval: int, keep: int) -> int:
    """The whole intervals, in steps, after each of which one checkpoint stays so that `keep` of a run stay at
    most, and the newest; 0 keeps all."""
    written = ceil(steps / interval)
    return interval * ceil(written / (keep or written))
