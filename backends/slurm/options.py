"""sbatch options: the directives that a plan asks for, their spelling, and what SLURM would refuse."""

import math
import re
from collections.abc import Iterator

from ...compiler.explain.straddling import kinds
from ...compiler.plan import Layout, Plan
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job, Launch
from ...reading.facts import Value
from ..languages import sbatch

Options = dict[str, Value]

SEGMENT = "PAR621"
SIGNAL = "PAR622"
CONTRADICTION = "PAR623"
UNREADABLE = "PAR624"
LATE = "PAR625"

#: Code -> (short name, title), for `parc rules`.
CODES = {
    SEGMENT: ("segment", "a segment that does not divide the nodes or hold the layout's groups"),
    SIGNAL: ("signal", "a warning signal that sbatch cannot send in time"),
    CONTRADICTION: ("extra-contradicts", "an extra option that the layout decides"),
    UNREADABLE: ("option-unreadable", "an option or a line that sbatch cannot read"),
    LATE: (
        "checkpoint-too-late",
        "a wall time that ends before a step, a checkpoint or its signal",
    ),
}
HOUR = 3600.0
MANUAL = "https://slurm.schedmd.com/sbatch.html"

#: Options whose values follow from the layout, so that `extra` may not give others.
_FIXED = (
    "nodes",
    "ntasks",
    "ntasks-per-node",
    "ntasks-per-gpu",
    "gpus",
    "gpus-per-task",
    "array",
    "wrap",
)
_GPU_REQUESTS = ("gpus-per-node", "gres")
#: sbatch keeps the warning time of --signal in 16 bits.
_MAX_SIGNAL_SECONDS = 65_535


def options(plan: Plan) -> Options:
    """The directives in the order they are written; `True` is an option without a value."""
    launch, cluster = plan.job.slurm, plan.job.cluster
    count = cluster.gpus_per_node
    gpus = f"{launch.gpu_type}:{count}" if launch.gpu_type else str(count)
    wanted: dict[str, Value | None] = {
        "job-name": launch.job_name or f"{_file_safe(plan.job.name)}-{plan.target}",
        "account": launch.account,
        "partition": launch.partition,
        "qos": launch.qos,
        "constraint": launch.constraint,
        "reservation": launch.reservation,
        "nodes": plan.layout.nodes,
        "segment": launch.segment or segment_nodes(plan.layout, count, cluster.domain),
        "ntasks-per-node": 1,
        launch.gpu_request: f"gpu:{gpus}" if launch.gpu_request == "gres" else gpus,
        # A whole node comes with all that it has, and sites keep some cores for the system.
        "cpus-per-task": None if launch.exclusive else cluster.cpu_cores,
        "mem": 0,
        "exclusive": launch.exclusive or None,
        "time": None if launch.time is None else time_text(launch.time),
        "signal": f"B:USR1@{math.ceil(plan.signal_seconds)}" if plan.signal_seconds else None,
        "requeue" if launch.requeue else "no-requeue": True,
        "output": "%x-%j.out",
        "open-mode": "append",
    }
    wanted |= {name.replace("_", "-"): value for name, value in launch.extra.items()}
    return {key: value for key, value in wanted.items() if value is not None and value is not False}


def segment_nodes(layout: Layout, gpus_per_node: int, domain: int) -> int | None:
    """Nodes to take from one NVLink block so that tensor, context and expert groups stay inside it.

    None where a domain is a node, or where no group leaves its node. A segment divides the nodes of the job,
    as the block topology asks, and the largest one, with which the plan is priced, so that no more domains
    are needed. It is the largest where no smaller one is a multiple of all groups.
    """
    spans = [size * stride for size, stride in kinds(layout).values()]
    if domain <= gpus_per_node or not any(gpus_per_node % span for span in spans):
        return None
    largest = max(k for k in range(1, domain // gpus_per_node + 1) if layout.nodes % k == 0)
    fitting = (k for k in range(1, largest) if largest % k == 0)
    whole = (k for k in fitting if not any(k * gpus_per_node % span for span in spans))
    return next(whole, largest)


def fast_group(layout: Layout) -> int:
    """GPUs of the largest group that talks inside every layer."""
    return max(layout.tp * layout.cp, layout.ep * layout.etp)


def time_text(seconds: float) -> str:
    """SLURM's days-hours:minutes:seconds."""
    minutes, second = divmod(math.ceil(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}-{hour:02}:{minute:02}:{second:02}"


def problems(plan: Plan) -> list[Diagnostic]:
    """Settings of `launch slurm` that sbatch would refuse or that contradict the layout."""
    job, launch = plan.job, plan.job.slurm
    return [
        *_segment_problems(plan, launch),
        *_signal_problems(plan, launch),
        *_extra_problems(job, launch),
        *_text_problems(job, launch),
        *_line_problems(job, launch),
    ]


def _segment_problems(plan: Plan, launch: Launch) -> Iterator[Diagnostic]:
    if launch.segment is None:
        return
    layout, per_node = plan.layout, plan.job.cluster.gpus_per_node
    span = plan.job.span("launch", "segment")
    if layout.nodes % launch.segment:
        message = f"segment {launch.segment} does not divide {layout.nodes} nodes"
        yield Diagnostic(SEGMENT, message, span)
    group = min(fast_group(layout), plan.job.cluster.domain)
    if launch.segment * per_node < group:
        message = (
            f"segment {launch.segment} holds {launch.segment * per_node} GPUs, "
            f"but {plan.target} keeps groups of {group} on the fast link"
        )
        yield Diagnostic(SEGMENT, message, span, help="without `segment` it is computed")


def _signal_problems(plan: Plan, launch: Launch) -> Iterator[Diagnostic]:
    span, signal = plan.job.span("launch", "signal"), plan.signal_seconds
    if signal > _MAX_SIGNAL_SECONDS:
        message = f"signal {signal:g} s is over sbatch's limit of {_MAX_SIGNAL_SECONDS:,} s"
        yield Diagnostic(SIGNAL, message, span, help="`signal` says when, `signal = 0 s` never")
    elif signal and launch.time is not None and signal >= launch.time:
        message = f"signal {signal:g} s before the end of {launch.time:g} s comes at the start"
        help_text = "a longer `time`, or `signal = 0 s` for none"
        yield Diagnostic(SIGNAL, message, span or plan.job.span("launch", "time"), help=help_text)


def warnings(plan: Plan) -> Iterator[Diagnostic]:
    """Warnings of a wall time that is too short for a step or a checkpoint, though sbatch takes it."""
    job, step, start = plan.job, plan.estimate.step_seconds, plan.start_seconds
    if job.launch is None or start is None:
        return
    signal, interval = plan.signal_seconds, plan.checkpoint_interval
    if signal and signal < step:
        message = f"signal comes {signal:g} s before the end, and a step takes {step:.0f} s"
        help = "without `signal` it comes early enough for a last checkpoint"
        yield Diagnostic(LATE, message, job.span("launch", "signal"), "warning", help=help)
    if start < step:
        message = f"a step takes {step:.0f} s, and a start has {max(0.0, start):.0f} s"
        yield Diagnostic(
            LATE, message, job.span("launch", "time"), "warning", help="a longer `time`"
        )
    elif start < interval * step and job.saves(plan.target):
        told = "only the signal has one written" if signal else "none is written"
        message = (
            f"{interval:,} steps to a checkpoint take {interval * step / HOUR:.1f} h, and a start has "
            f"{start / HOUR:.1f} h: {told}"
        )
        span = job.span("train", "checkpoint_interval")
        help = "without `checkpoint_interval` it is a third of that at most"
        yield Diagnostic(LATE, message, span, "warning", help=help)


def _extra_problems(job: Job, launch: Launch) -> Iterator[Diagnostic]:
    for key, value in launch.extra.items():
        name, span = key.replace("_", "-"), job.span("launch", "extra", key)
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) < 2:
            message = f"`{key}` is not the long name of an sbatch option"
            yield Diagnostic(UNREADABLE, message, span, help="`N` is `nodes`, `p` is `partition`")
        elif name.startswith("container-"):
            message = f"`{key}` belongs to srun, sbatch refuses it"
            yield Diagnostic(UNREADABLE, message, span, help="use `container` and `mounts`")
        elif name in _FIXED or (name in _GPU_REQUESTS and _asks_gpus(name, value)):
            message = f"`extra` may not set `{key}`, which the layout decides"
            yield Diagnostic(CONTRADICTION, message, span, help=_fixed_help(name))


def _asks_gpus(name: str, value: Value) -> bool:
    return value is not False and (name == "gpus-per-node" or "gpu" in str(value))


def _fixed_help(name: str) -> str:
    if name in _GPU_REQUESTS:
        return "`gpu_request` and `gpu_type` choose how GPUs are asked for"
    return "the cluster's `nodes` and `gpus_per_node` fix the shape"


def _text_problems(job: Job, launch: Launch) -> Iterator[Diagnostic]:
    named = ("job_name", "account", "partition", "qos", "constraint", "reservation", "gpu_type")
    texts: dict[tuple[str, ...], Value | None]
    texts = {("launch", name): getattr(launch, name) for name in (*named, "container", "mounts")}
    texts |= {("launch", "extra", key): value for key, value in launch.extra.items()}
    for path, value in texts.items():
        if not isinstance(value, str):
            continue
        if not sbatch.holds(value):
            message = f"`{path[-1]}` is empty or has a control character"
            yield Diagnostic(UNREADABLE, message, job.span(*path))
        elif "$" in value and path[-1] not in ("container", "mounts"):
            message = f"`{path[-1]}` has a `$`, and sbatch does not expand variables"
            yield Diagnostic(UNREADABLE, message, job.span(*path))


def _line_problems(job: Job, launch: Launch) -> Iterator[Diagnostic]:
    """sbatch takes no script in which a line ends in CR LF."""
    if any("\r\n" in f"{line}\n" for line in launch.setup):
        message = "a line of `setup` ends in CR LF, and sbatch refuses such scripts"
        yield Diagnostic(UNREADABLE, message, job.span("launch", "setup"), help="end lines in LF")


def _file_safe(name: str) -> str:
    """The job name is part of the log's file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)
