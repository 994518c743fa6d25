"""A job's plans -> the values of the page's template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parc.api import step_timeline
from parc.compiler.model.parameters import total
from parc.compiler.plan import Estimate, Plan
from parc.compiler.risk import band
from parc.dsl.job import Job
from parc.printing.advice_text import TELL, advice, local_command, may_be_tried
from parc.printing.plan_json import planned_json, rounded
from parc.printing.words.layouts import layout_parts, layout_text
from parc.printing.words.numbers import (
    counted,
    duration,
    peak_of,
    risk,
    seconds,
    short,
    span,
)

from .choice import binding, choice, doubt, faster, fastest, fewer, proof, runners_up
from .figures.common import GIB, Plot
from .figures.gpus import gpus
from .figures.grid import Grid, grid
from .figures.landscape import landscape as landscape_figure
from .figures.layout_words import layout_of
from .figures.memory_chart import memory, terms_of
from .figures.step import step
from .figures.targets import targets
from .figures.timeline import horizon, shown_microbatches, timeline
from .first_answers import answers, command, headline, kept
from .job_source import job_lines
from .landscape import Landscape, landscape

if TYPE_CHECKING:
    from parc.api import Planned
    from parc.compiler.schedule.timeline import Timeline


def page_values(planned: Planned, timed: bool) -> dict[str, Any]:
    """Values of the template; `data` is for its script, which describes the place under the pointer."""
    parts = [_part(planned, plan, number, timed) for number, plan in enumerate(planned.plans)]
    said = planned_json(planned)
    data: Mapping[str, object] = {
        "planned": said,
        "figures": {
            f"{name}-{part['number']}": rounded(chart.hover)
            for part in parts
            for name, chart in part["charts"].items()
            if chart.hover
        },
    }
    return {
        "name": planned.job.name,
        "title": title(planned.job, planned.plans[0]),
        "parts": parts,
        "several": len(parts) > 1,
        "targets": targets(planned.plans),
        "goal": goal(planned.job),
        "refused": [(target, each.code, each.message) for target, each in planned.complaints],
        "lines": job_lines(planned.job, planned.plans),
        "file": said["job"],
        "version": said["parc"],
        "data": data,
    }


def goal(job: Job) -> str:
    """The objective that ranks the targets, where it is not the MFU that their chart shows; else empty."""
    first = next(iter(job.goal.objectives), None)
    if first is None or first.quantity == "mfu":
        return ""
    return f"{first.direction} {first.quantity}"


def title(job: Job, plan: Plan) -> list[str]:
    """Title of the page: parameters, GPUs, batch."""
    layout = plan.layout
    gpu = job.cluster.gpu.name.replace("_", " ").upper()
    return [
        f"{short(total(job.model, seq_len=job.train.seq_len))} parameters",
        f"{layout.gpus:,} × {gpu} in {counted(layout.nodes, 'node')}",
        f"{job.train.global_batch:,} sequences × {job.train.seq_len:,} tokens",
    ]


def _part(planned: Planned, plan: Plan, number: int, timed: bool) -> dict[str, Any]:
    """A target's part of the page."""
    estimate = plan.estimate
    simulated = _simulated(plan)
    found = landscape(plan, planned.whole.get(plan.target))
    charts: dict[str, Plot | Grid | None] = {
        "grid": grid(plan.layout, plan.job.cluster.gpus_per_node),
        "memory": memory(estimate),
        "timeline": timeline(simulated),
        "landscape": landscape_figure(found, estimate) if found else None,
        "gpus": gpus(found, plan) if found else None,
    }
    return {
        "number": number,
        "target": plan.target,
        "headline": headline(plan, best=not number),
        "layout": layout_parts(plan.layout),
        "answers": answers(plan),
        "compile": command(plan, len(plan.job.targets) > 1),
        "fullest": f"{estimate.memory_bytes / GIB:.1f} {fullest(estimate)}",
        "charts": {name: chart for name, chart in charts.items() if chart},
        "step": step(estimate),
        "memory_table": _memory_table(estimate),
        "timeline_text": _timeline_text(estimate, simulated),
        "landscape_text": found and _landscape_text(found),
        "landscape_table": _landscape_table(found, estimate) if found else (),
        "fastest": fastest(plan, found.fastest.step_seconds) if found else "",
        "by_nodes": _by_nodes(found, plan) if found else (),
        "choice": choice(plan),
        "doubt": doubt(plan),
        "fewer": fewer(plan).replace("`", ""),
        "faster": faster(plan),
        "advice": advice(plan),
        "trials": f"{TELL}; in the job's folder:" if may_be_tried(plan) else "",
        "command": local_command(plan),
        "runners_up": runners_up(plan),
        "proof": proof(plan, timed),
        "binding": binding(plan),
        "warnings": [(each.code, each.message, each.help) for each in planned.warnings_about(plan)],
        "familiarity": estimate.familiarity,
        "step_band": " to ".join(map(seconds, band(estimate.step_seconds, estimate.step_spread))),
    }


def facts(plan: Plan) -> list[tuple[str, str, str]]:
    """The plan in a few numbers: a label, the number, and what it says besides."""
    estimate, train = plan.estimate, plan.job.train
    low, high = (f"{100 * end:.0f}" for end in estimate.mfu_band)
    reached = f"{estimate.tflops_per_gpu:,.0f} TFLOP/s/GPU of {peak_of(plan.job)}"
    length = f"{short(train.tokens)} tokens" if train.tokens else f"{train.total_steps:,} steps"
    found = [
        ("MFU", f"{100 * estimate.mfu:.1f} %", f"{reached}; four runs in five: {low}–{high} %"),
        ("step", seconds(estimate.step_seconds), _tokens(estimate)),
        ("memory", f"{estimate.memory_bytes / GIB:.1f} GiB", fullest(estimate)),
        ("training", duration(estimate.days), length),
    ]
    if estimate.cost:
        found.append(("cost", f"{short(estimate.cost)}$", "at the cluster's price"))
    if plan.job.saves(plan.target):
        found.append(("checkpoints", f"each {span(plan.checkpoints.interval_seconds)}", kept(plan)))
    return found


def _tokens(estimate: Estimate) -> str:
    each, all_of_them = estimate.tokens_per_second_per_gpu, estimate.tokens_per_second
    return f"{each:,.0f} tokens/s/GPU, {all_of_them:,.0f} tokens/s"


def fullest(estimate: Estimate) -> str:
    """The memory that a rank may take, and the fullest rank's risk of running out."""
    return f"of {estimate.ceiling_bytes / GIB:.1f} GiB, {risk(estimate.out_of_memory)} risk"


def _simulated(plan: Plan) -> Timeline:
    layout = plan.layout
    shown = shown_microbatches(layout.pp, layout.vpp, layout.microbatches)
    return step_timeline(plan.job, plan.target, plan.estimate, shown=shown)


def _timeline_text(estimate: Estimate, simulated: Timeline) -> str:
    found = "The step as it is simulated"
    if simulated.step_ns is None or horizon(simulated) < simulated.step_ns:
        found = f"The first {seconds(horizon(simulated) / 1e9)} of the step as it is simulated"
    if estimate.layout.pp == 1:
        return f"{found}."
    return f"{found}; bubbles are {100 * estimate.bubble:.1f} % of the whole."


def _memory_table(estimate: Estimate) -> dict[str, Any]:
    names = terms_of(estimate)
    return {
        "head": ["rank", "layers", *(name.replace("_", " ") for name in names), "GiB"],
        "rows": [
            [
                str(stage.index),
                " + ".join(map(str, stage.layers)),
                *(f"{stage.memory.get(name, 0) / GIB:.2f}" for name in names),
                f"{stage.memory_bytes / GIB:.1f}",
            ]
            for stage in estimate.stages
        ],
    }


def _landscape_text(found: Landscape) -> str:
    """Caption of the landscape: how many layouts are drawn, and by which rule."""
    if found.whole:
        priced = f"All {found.priced:,} layouts are priced and the frontier is that of all"
    else:
        priced = (
            f"The space is too large to be drawn whole: {found.priced:,} layouts are priced, every k-th of "
            "those that each decision leaves, and the frontier is theirs; the chosen one may lie beyond it"
        )
    drawn = f"{found.drawn:,} of {found.priced:,} are shown, evenly sampled by kind and time"
    return (
        f"{priced}; {drawn}; {found.outside:,} are off the chart. Layers are placed evenly, but for "
        "the chosen one, whose placement was optimised."
    )


def _landscape_table(found: Landscape, estimate: Estimate) -> Sequence[tuple[str, str, str]]:
    def row(layout: dict[str, int], step_seconds: float, size: int) -> tuple[str, str, str]:
        return layout_text(layout_of(layout)), seconds(step_seconds), f"{size / GIB:.1f}"

    ours = (
        layout_text(estimate.layout),
        seconds(estimate.step_seconds),
        f"{estimate.memory_bytes / GIB:.1f}",
    )
    frontier = [row(each.layout, each.step_seconds, each.memory_bytes) for each in found.frontier]
    return [ours, *frontier[:24]]


def _by_nodes(found: Landscape, plan: Plan) -> list[tuple[str, str]]:
    per_node = plan.job.cluster.gpus_per_node
    return [
        (f"{each.layout['nodes'] * per_node:,}", seconds(each.step_seconds))
        for each in found.by_nodes
    ]
