"""Prices of a launch file's layout and of the best layout for a job, by the compiler's own terms.

They are loaded by the first layout that is priced: most runs of `parc lint`
price none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..backends import BACKENDS
from ..backends.huggingface.fsdp import STATES_OF
from ..backends.reader import Missing
from ..compiler.case import Case
from ..compiler.plan import OFFLOAD, RECOMPUTE, Estimate, Plan
from ..compiler.rules.validity import predicates
from ..compiler.target import Target, holds
from ..compiler.variables import NEUTRAL
from ..dsl.arrays import np
from ..dsl.diagnostics import JobError
from ..dsl.expression import VALUES
from ..dsl.job import Job
from .facts.job_blocks import NO_FRAMEWORK, described_job, undescribed
from .facts.known import Known
from .facts.launched_job import LaunchedJob

if TYPE_CHECKING:
    from .tuning_price import Tuning

Layout = dict[str, int]

_PLANS: dict[tuple[str, str, str | None, str], Plan | None] = {}


@dataclass(frozen=True)
class Priced:
    """A layout with its price."""

    layout: Layout
    estimate: Estimate


def tuning_of(launch: LaunchedJob) -> Tuning | None:
    """The full fine-tuning of a trainer's arguments that a cluster is named for."""
    if launch.job is not None or launch.cluster is None:
        return None
    from .facts.full_tuning import of_trainer
    from .tuning_price import tuning  # loads what reads a model's config.json

    if not of_trainer(launch):
        return None
    return tuning(launch, launch.cluster)


def target_of(launch: LaunchedJob) -> Target | None:
    """The framework that runs the job; the compiler knows none of their forks."""
    if tuning_of(launch) is not None:
        return BACKENDS[STATES_OF].target
    backend = BACKENDS.get(launch.framework or "")
    return None if backend is None or backend.reader.fork(launch.config) else backend.target


def job_of(launch: LaunchedJob) -> Job | None:
    """The job to price on: the one that was asked for, or what the files say on a named cluster."""
    if launch.job is not None:
        return launch.job
    if (tuned := tuning_of(launch)) is not None:
        return tuned.job
    return None if launch.cluster is None else described_job(launch, launch.cluster)


def best_plan(launch: LaunchedJob) -> Plan | None:
    """The best layout of the job on the framework of the files; None where there is none, or the job does
    not ask for this framework. Solved once for each job and target."""
    from ..compiler import plan

    job, target = launch.job, target_of(launch)
    if job is None or target is None or all(spec.name != target.name for spec in job.targets):
        return None
    key = (job.path, job.digest, job.stage, target.name)
    if key not in _PLANS:
        try:
            _PLANS[key] = plan(job, target)
        except JobError:
            _PLANS[key] = None
    return _PLANS[key]


def unplanned(launch: LaunchedJob) -> str:
    """Why `best_plan` gives nothing for a job."""
    target = target_of(launch)
    if target is None:
        return unpriced(launch)
    if all(spec.name != target.name for spec in (launch.job.targets if launch.job else ())):
        return f"the job has no target `{target.name}`"
    return f"the job has no layout on {target.name}"


def layout_of(launch: LaunchedJob, job: Job) -> Layout:
    """The decision variables of a launch file; raises `Missing`."""
    if (tuned := tuning_of(launch)) is not None and tuned.layout is not None:
        return tuned.layout
    known = Known(launch)
    if known.number("gpus_per_node") != job.cluster.gpus_per_node:
        raise Missing("gpus_per_node")
    names = ("tp", "pp", "cp", "zero", "micro_batch", "vpp")
    layout = {**NEUTRAL, "nodes": known.number("nodes")}
    layout |= {name: known.column(name) for name in names}
    if job.model.moe:
        layout |= {name: known.column(name) for name in ("ep", "etp")}
    dp = known.column("dp")
    layout["dp_shard"] = known.column("dp_shard") if layout["zero"] else 1
    layout["dp_shard"] = min(layout["dp_shard"], dp)
    recompute = str(known.fact("recompute"))
    if recompute not in RECOMPUTE:
        raise Missing("recompute")
    layout["recompute"] = VALUES["recompute"][recompute]
    layout["recompute_layers"] = known.column("recompute_layers") if recompute == "full" else 0
    offload = str(launch.value("offload") or "none")
    layout["offload"] = OFFLOAD.index(offload) if offload in OFFLOAD else 0
    layout["hpz"] = launch.number("hpz") or 1
    if "order" in launch.facts:
        layout["order"] = VALUES["order"][str(known.fact("order"))]
    return {name: value for name, value in layout.items() if name != "dp_replicate"}


def price(launch: LaunchedJob) -> Priced | None:
    """The launch file's layout with its price; None where it, or the job, is not fully known or not legal."""
    job, target = job_of(launch), target_of(launch)
    if job is None or target is None:
        return None
    try:
        layout = layout_of(launch, job)
    except Missing:
        return None
    return priced(Case(job, target), layout)


def unpriced(launch: LaunchedJob) -> str:
    """Why `price` gives nothing: the first thing that is missing."""
    if (tuned := tuning_of(launch)) is not None and tuned.reason:
        return tuned.reason
    if target_of(launch) is None:
        if launch.framework in BACKENDS:
            return "a fork runs it, which has no price"
        return f"no price of {launch.program.title}" if launch.program else NO_FRAMEWORK
    job = job_of(launch)
    if job is None:
        unknown = undescribed(launch, launch.cluster) if launch.cluster else ""
        return unknown or "the files describe no job that parc can price"
    try:
        layout_of(launch, job)
    except Missing as missing:
        gpus = job.cluster.gpus_per_node
        if missing.name == "gpus_per_node" and launch.number("gpus_per_node") is not None:
            return f"a node has {launch.number('gpus_per_node')} GPUs here and {gpus} in the job"
        return f"{missing.name} is unknown"
    return "the framework or the arithmetic does not allow the layout"


def priced(case: Case, layout: Layout) -> Priced | None:
    """A layout's price, when the framework and the arithmetic allow it."""
    from ..compiler.pricing.estimate import estimate_layout, one_row

    try:
        columns = one_row(case, layout)
        legal = all(
            bool(np.all(holds(rule, case.job, columns))) for rule in predicates(case.target)
        )
        return Priced(layout, estimate_layout(case, layout)) if legal else None
    except (ArithmeticError, ValueError, KeyError, IndexError):
        return None


def cheapest_fit(
    case: Case, layout: Layout, fixed: Collection[str] = ()
) -> tuple[str, Priced] | None:
    """The change of one choice, but those of `fixed`, that fits into memory and costs the least time, and its
    words."""
    from ..compiler.headroom import ceiling_bytes

    ceiling = ceiling_bytes(case)
    fitting = [
        (words, found)
        for words, changed in _changes(case, layout)
        if all(changed[name] == layout[name] for name in fixed)
        and (found := priced(case, changed)) is not None
        and found.estimate.memory_bytes <= ceiling
    ]
    return min(fitting, key=lambda each: each[1].estimate.step_seconds, default=None)


def _changes(case: Case, layout: Layout) -> Iterator[tuple[str, Layout]]:
    """Layouts that differ in one choice, with the words for it."""
    domains = case.domains
    if "recompute" in domains:
        order = list(VALUES["recompute"].values())
        for level in order[order.index(layout["recompute"]) + 1 :]:
            if level in domains["recompute"]:
                changed = {"recompute": level, "recompute_layers": 0}
                yield f"recompute {RECOMPUTE[level]}", {**layout, **changed}
    dp = (
        layout["nodes"] * case.cluster.gpus_per_node // (layout["tp"] * layout["pp"] * layout["cp"])
    )
    if "zero" in domains:
        for stage in range(layout["zero"] + 1, 4):
            yield f"zero {stage}", {**layout, "zero": stage, "dp_shard": dp}
    for size in range(layout["micro_batch"] // 2, 0, -1):
        if layout["micro_batch"] % size == 0:
            yield f"micro-batch {size}", {**layout, "micro_batch": size}
    for name in ("tp", "pp", "cp"):
        for times in (2, 4, 8):
            if name in domains and dp % times == 0:
                degree = layout[name] * times
                shard = max(layout["dp_shard"] // times, 1)
                yield f"{name} {degree}", {**layout, name: degree, "dp_shard": shard}
    if "offload" in domains:
        for level in (each for each in domains["offload"] if each > layout["offload"]):
            yield f"offload {OFFLOAD[level]}", {**layout, "offload": level}


def words_of(estimate: Estimate) -> str:
    """`tp 4, pp 2`: the degrees above 1 and what else tells layouts apart."""
    layout = estimate.layout
    names = ("tp", "pp", "vpp", "cp", "ep", "etp")
    degrees = [f"{name} {getattr(layout, name)}" for name in names if getattr(layout, name) > 1]
    degrees += [f"dp {layout.dp}", f"zero {layout.zero}", f"micro-batch {layout.micro_batch}"]
    return ", ".join([*degrees, f"recompute {layout.recompute_name}"])


def same_layout(layout: Layout, other: Estimate) -> bool:
    """Whether a plan has the layout; what it decides about stages is another matter."""
    chosen = other.layout.model_dump()
    return all(chosen.get(name) == value for name, value in layout.items())
