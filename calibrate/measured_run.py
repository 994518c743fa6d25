"""A log, its job and the layout that the user gives -> a measured run with its layout complete."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from ..backends import BACKENDS
from ..backends.log import RunLog, Unit
from ..compiler.case import Case
from ..compiler.pipeline.even_split import Split
from ..compiler.pipeline.rank_load import STAGES
from ..compiler.run import step_digest
from ..compiler.search.complete_layout import complete
from ..compiler.variables import FREE, PLACE
from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.hardware import Cluster
from ..dsl.job import Goal, Job, Train
from .codes import LAYOUT, OTHER_JOB, UNSTEADY
from .other_job import of_another_job
from .steady_state import FEWEST, SteadyState, steady_state

#: Share by which the tokens of a step by a log's rounded figures may differ from the job's.
ROUNDING = 0.03
#: Spread of a run's steps beyond which they have no steady state.
UNSTEADY_SPREAD = 0.15
#: The cure of steps that vary more.
ALONE = "measure while nothing else runs"
#: GPUs of the largest run that is believed.
MOST_GPUS = 10**6
#: Seconds of the longest step that is believed.
LONGEST = 1e6
#: What is 1 where nobody says it.
DEGREES = ("tp", "pp", "cp", "ep")


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run and the steady state of its steps. `job` is the user's with the batch, length and GPUs that ran;
    `layout` holds every decision by name, `filled` names those that neither log nor user gave.
    `timers` and `reserved` are the log's (`RunLog`)."""

    path: str
    job: Job
    target: str
    layout: Mapping[str, int]
    placement: Split
    steps: SteadyState
    filled: tuple[str, ...]
    facts: Mapping[str, object] | None = None
    """Settings of the target's block in which the log differs from the job; None where it shows none."""
    timers: Mapping[str, float] = field(default_factory=dict)
    reserved: float | None = None

    @property
    def case(self) -> Case:
        return Case(self.job, BACKENDS[self.target].target)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for runs of one job, layout and batch: these should take the same time."""
        train = self.job.train
        batch = (train.seq_len, train.global_batch, train.precision, train.compile)
        facts = sorted((name, str(value)) for name, value in (self.facts or {}).items())
        return (self.target, step_digest(self.job), *batch, *sorted(self.layout.items()), *facts)


def measured_run(path: str, log: RunLog, job: Job, given: Mapping[str, int]) -> MeasuredRun:
    """The run that a log describes; `given` holds degrees that the log leaves open.

    Raises JobError with every reason why the log cannot be used.
    """
    _raise(_clashes(path, log, job, given))
    job, facts = _with_stack(job, log)
    layout = {**log.assumed, **log.layout, **given}
    ran = _job_that_ran(path, log, job, layout)
    case = Case(ran, BACKENDS[log.target].target)
    try:
        decided = complete(case, {k: v for k, v in layout.items() if k not in ("gpus", "nodes")})
    except JobError as error:
        raise JobError([_of(path, found) for found in error.diagnostics]) from None
    steps = _steady_state(path, log, ran)
    _raise(_impossible(path, steps, case))
    if not log.uneven:
        decided = {**decided, PLACE: 0}
    return MeasuredRun(
        path=path,
        job=ran,
        target=log.target,
        layout=decided,
        placement=case.placements.split(*(decided[name] for name in STAGES)),
        steps=steps,
        filled=(*_unsaid(log, given, case), *_open(layout, case)),
        facts=facts,
        timers=log.timers,
        reserved=log.reserved,
    )


def _with_stack(job: Job, log: RunLog) -> tuple[Job, Mapping[str, object] | None]:
    """The job with the settings of the target's block that the log states, and those of them that differ.
    A value that the block does not take stays as the job has it."""
    if log.stack is None:
        return job, None
    spec = next(each for each in job.targets if each.name == log.target)
    options, differ = spec.options, dict[str, object]()
    for name, value in log.stack.items():
        try:
            changed = type(options).model_validate({**dict(options), name: value})
        except ValidationError:
            continue
        if value != getattr(options, name):
            options, differ[name] = changed, value
    ran = spec.model_copy(update={"options": options})
    targets = tuple(ran if each is spec else each for each in job.targets)
    return job.model_copy(update={"targets": targets}), differ


def _open(layout: Mapping[str, int], case: Case) -> list[str]:
    """Decisions left to parc. The recomputed layers of a chunk only matter under full recomputation."""
    known = {"recompute_layers"} if "recompute" in layout else set()
    names = (name for name in FREE if name not in {*layout, "nodes", *known})
    return [name for name in names if len(case.domains.get(name, ())) > 1]


def _unsaid(log: RunLog, given: Mapping[str, int], case: Case) -> list[str]:
    """Degrees that are 1 and nodes that are the job's because nobody says so: a user's layout leaves out what
    it does not mean to change."""
    if given.keys() - {"nodes", "gpus"}:
        return []
    said = {*log.layout, *log.assumed, *given}
    found = [name for name in DEGREES if name not in said and len(case.domains.get(name, ())) > 1]
    return found if said & {"nodes", "gpus"} else [*found, "nodes"]


def _raise(complaints: Iterable[Diagnostic]) -> None:
    found = list(complaints)
    if found:
        raise JobError(found)


def _of(path: str, complaint: Diagnostic) -> Diagnostic:
    return Diagnostic(
        complaint.code, f"{path}: {complaint.message}", notes=complaint.notes, help=complaint.help
    )


def _clashes(path: str, log: RunLog, job: Job, given: Mapping[str, int]) -> Iterable[Diagnostic]:
    for clash in log.clashes:
        help = "give each run's log as a file of its own"
        yield Diagnostic(LAYOUT, f"`{path}` holds several runs: {clash}", help=help)
    for name, value in given.items():
        if name in log.layout and log.layout[name] != value:
            message = f"`{path}` ran with {name} {log.layout[name]}, but is given with {value}"
            yield Diagnostic(LAYOUT, message, help="leave out what the log says itself")
    yield from of_another_job(path, log, job)


def _impossible(path: str, steps: SteadyState, case: Case) -> Iterable[Diagnostic]:
    """A step that takes more of the GPUs than their peak."""
    least = case.model_flops / (case.job.peak_flops * _gpus(case.job))
    if steps.seconds < least:
        took = f"`{path}` took {steps.seconds:.3g} s a step"
        message = (
            f"{took}, this job takes {least:.3g} s at least at the peak of {_gpus(case.job)} GPUs"
        )
        help = "give it with the job, the batch and the number of GPUs that it ran with"
        yield Diagnostic(OTHER_JOB, message, help=help)


def _job_that_ran(path: str, log: RunLog, job: Job, layout: Mapping[str, int]) -> Job:
    """The user's job with the log's batch and length, on the GPUs of the run; without its goal."""
    cluster, train = _cluster(path, job, layout), _train(path, log, job)
    ran = job.model_copy(update={"goal": Goal(), "cluster": cluster, "train": train})
    expected = ran.train.global_batch * ran.train.seq_len
    if log.step_tokens and abs(log.step_tokens / expected - 1) > ROUNDING:
        message = f"`{path}` has about {log.step_tokens:,.0f} tokens a step, the job {expected:,}"
        help = "set train.global_batch and train.seq_len to what ran, with --set"
        raise JobError(
            [Diagnostic(OTHER_JOB, message, job.span("train", "global_batch"), help=help)]
        )
    return ran


def _train(path: str, log: RunLog, job: Job) -> Train:
    compiles = BACKENDS[log.target].target.traits.kernels.compiles
    logged = {name: value for name, value in log.train.items() if name != "compile" or compiles}
    try:
        return Train(**{**job.train.model_dump(), **logged})
    except ValidationError as error:
        wrong = error.errors()[0]
        message = f"`{path}` has an impossible {wrong['loc'][0]}: {wrong['input']}"
        raise JobError([Diagnostic(OTHER_JOB, message)]) from None


def _cluster(path: str, job: Job, layout: Mapping[str, int]) -> Cluster:
    """Whole nodes of the job's cluster, or a part of one node."""
    cluster, nodes = job.cluster, layout.get("nodes")
    if nodes is None and "gpus" not in layout and len(cluster.nodes) > 1:
        message = f"`{path}` does not say on how many nodes it ran"
        raise JobError([Diagnostic(LAYOUT, message, help=f"--layout {path}:nodes=...")])
    nodes = cluster.nodes[0] if nodes is None else nodes
    gpus = layout.get("gpus", nodes * cluster.gpus_per_node)
    if not 1 <= gpus <= MOST_GPUS:
        raise JobError(
            [Diagnostic(OTHER_JOB, f"`{path}` ran on an impossible number of GPUs: {gpus}")]
        )
    if gpus < cluster.gpus_per_node:
        return cluster.model_copy(update={"nodes": (1,), "gpus_per_node": gpus})
    if gpus % cluster.gpus_per_node:
        message = f"`{path}` ran on {gpus} GPUs, which do not fill whole nodes of the job"
        help = f"the job has {cluster.gpus_per_node} GPUs per node"
        span = job.span("cluster", "gpus_per_node")
        raise JobError([Diagnostic(OTHER_JOB, message, span, help=help)])
    return cluster.model_copy(update={"nodes": (gpus // cluster.gpus_per_node,)})


#: Seconds of a step from each unit in which a log states its speed.
SECONDS: Mapping[Unit, Callable[[Job, float], float]] = {
    "seconds": lambda job, value: value,
    "sequences/s": lambda job, value: job.train.global_batch / value,
    "tokens/s per GPU": lambda job, value: (
        job.train.global_batch * job.train.seq_len / (value * _gpus(job))
    ),
}


def _gpus(job: Job) -> int:
    return job.cluster.nodes[0] * job.cluster.gpus_per_node


def _steady_state(path: str, log: RunLog, job: Job) -> SteadyState:
    seconds = SECONDS[log.unit]
    timed = [(pace.step, seconds(job, pace.value)) for pace in log.paces if pace.value > 0]
    found = steady_state([(step, time) for step, time in timed if 0 < time <= LONGEST])
    if found is None:
        message = f"`{path}` reports {len(log.paces)} steps, too few after the warm-up"
        help = f"at least {FEWEST} are needed beyond it: run longer, or report more often"
        raise JobError([Diagnostic(UNSTEADY, message, help=help)])
    if found.spread > UNSTEADY_SPREAD:
        message = f"steps of `{path}` vary by {found.spread:.0%}: they have no steady time"
        raise JobError([Diagnostic(UNSTEADY, message, help=ALONE)])
    return found
