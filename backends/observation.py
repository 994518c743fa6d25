"""Settings of observation that all targets share: the log, evaluation, TensorBoard, a profile."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from ..compiler.plan import Plan
from ..dsl.diagnostics import Diagnostic
from ..dsl.job import Job
from ..dsl.settings import Doc, Frozen, Unit, Zero

PROFILE = "PAR383"
CODES = {PROFILE: ("profile", "the profiled steps are none, or lie outside the run")}

#: Where `train.tracker` has TensorBoard write, below the run's folder.
FOLDER = "tensorboard"
BOARD = f"$RUN_DIR/{FOLDER}"
#: Steps between two log lines at most, unless given.
LOGGED_EVERY = 10
Interval = Annotated[int, Unit("1"), Field(ge=1, le=10**9)]
Step = Annotated[int, Unit("1"), Field(ge=1, le=10**9)]


class Observation(Frozen):
    """The part of a `target` block that is the same for all frameworks; steps are counted from 1."""

    log_interval: Annotated[
        Interval | None, Doc("steps between two log lines; 10, or those of a minute, unless given")
    ] = None
    eval_interval: Annotated[Interval, Doc("steps between two evaluations")] = 1000
    eval_iters: Annotated[Zero, Doc("steps of one evaluation; 0 for none")] = 10
    tensorboard: Annotated[str | None, Doc("folder for TensorBoard")] = None
    wandb: Annotated[str | None, Doc("Weights & Biases project")] = None
    profile_start: Annotated[
        Step | None, Doc("first step that PyTorch's profiler records; none unless given")
    ] = None
    profile_stop: Annotated[
        Step | None, Doc("last step that it records; two after the first unless given")
    ] = None

    @property
    def profiled(self) -> tuple[int, int] | None:
        """The first and the last recorded step, both included; None without a profile."""
        if self.profile_start is None:
            return None
        return self.profile_start, self.profile_stop or self.profile_start + 2


def curves(job: Job, options: Observation | None) -> tuple[str | None, str | None]:
    """TensorBoard's folder and W&B's project: the target's own, else as `train.tracker` asks."""
    board, project = (options.tensorboard, options.wandb) if options else (None, None)
    if job.train.tracker == "tensorboard":
        board = board or BOARD
    if job.train.tracker == "wandb":
        project = project or job.name
    return board, project


def log_interval(plan: Plan) -> int:
    """Steps between two log lines: the job's, else 10, or as many as a minute has: a run of long steps tells
    soon how it goes."""
    given: int | None = plan.options.log_interval if plan.options else None
    return given or max(1, min(LOGGED_EVERY, int(60 / plan.estimate.step_seconds)))


#: Settings of a run that reports every step and does nothing beside its steps.
QUIET = {
    "log_interval": 1,
    "eval_iters": 0,
    "tensorboard": None,
    "wandb": None,
    "profile_start": None,
    "profile_stop": None,
}


def problems(job: Job, target: str) -> Iterator[Diagnostic]:
    """Profiled steps that the run does not have; a trace is written in a step after its last."""
    options = job.options(target)
    if not isinstance(options, Observation):
        return
    start, stop = options.profile_start, options.profile_stop
    if start is None and stop is not None:
        message = f"`profile_stop` is {stop}, and `profile_start` is not set"
        span = job.span("target", target, "profile_stop")
        yield Diagnostic(PROFILE, message, span, help=f"profile_start = {max(1, stop - 2)}")
    if start is None:
        return
    span = job.span("target", target, "profile_start")
    last, total = options.profiled[1] if options.profiled else start, job.train.total_steps
    if last < start:
        message = f"`profile_stop` {last} comes before `profile_start` {start}"
        yield Diagnostic(PROFILE, message, span, help=f"profile_stop = {start + 2}")
    elif last >= total:
        message = (
            f"the profile ends with step {last}, and the run of {total} steps has no later step"
        )
        yield Diagnostic(PROFILE, message, span, help="earlier steps, such as 10 to 12")
