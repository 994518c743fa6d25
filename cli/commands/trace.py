"""write the timeline of a step, every pass of every pipeline rank, for Perfetto to open"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

import parc
from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .estimate import layout
from .job_arguments import add_json, add_overrides, add_stage, add_targets, load_job, output_path

if TYPE_CHECKING:
    from parc.compiler.plan import Estimate, Layout
    from parc.dsl.job import Job

NAME = "trace"
#: Events of the longest trace, which has 15 MB.
MOST_EVENTS = 100_000
#: Names in `parc.compiler.schedule.orders.ORDERS`, which is not loaded for --help.
SCHEDULES = ("1f1b", "gpipe", "interleaved_zb")


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("job", metavar="JOB", help="a job file")
    output = "the trace, for https://ui.perfetto.dev; of the job's plan.json beside it or in out/"
    add("-o", "--output", required=True, type=output_path, metavar="FILE", help=output)
    add("--force", action="store_true", help="replace a file that parc did not write")
    given = "a layout such as tp=8,pp=4 in place of the plan's"
    add("--layout", type=layout, metavar="NAME=VALUE,...", help=given)
    first = "only the first N micro-batches of the step"
    add("--microbatches", type=_count, metavar="N", help=first)
    order = "run the plan's passes in another order than its own; 1f1b is interleaved where the layout is"
    add("--schedule", choices=SCHEDULES, help=order)
    add_targets(parser)
    add_overrides(parser)
    add_stage(parser)
    add_json(parser)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a number of micro-batches, not `{text}`")
    return int(text)


def run(arguments: Namespace) -> int:
    job = load_job(arguments)
    from ..api import step_timeline
    from ..printing.terminal import print_json, print_text
    from ..printing.trace_json import OURS, timeline_json, trace_text
    from ..printing.trace_text import timeline_text
    from ..writing.single_file import refuse, replace

    refuse(arguments.output, lambda text: text.startswith(OURS), arguments.force)
    priced = _priced(job, arguments)
    if priced is None:
        return 1
    target, estimate = priced
    schedule = arguments.schedule or estimate.layout.order_name
    _refuse_long(estimate.layout, arguments.microbatches, schedule)
    found = step_timeline(job, target, estimate, schedule, arguments.microbatches)
    about = {"job": job.name, "target": target, **timeline_json(found)}
    replace(arguments.output, trace_text(about, estimate.stages, found))
    if arguments.json:
        print_json({**about, "plan_step_seconds": estimate.step_seconds})
    else:
        print_text(timeline_text(target, estimate, found, arguments.output))
    return 0


def _priced(job: Job, arguments: Namespace) -> tuple[str, Estimate] | None:
    """The target and the layout that are shown, with complaints printed; None where no target has a plan."""
    from ..api import plan_targets, target_names
    from ..kept_plan import compiled_estimate, kept_estimate
    from ..printing.terminal import print_diagnostics, progress

    targets = target_names(job, arguments.target)
    if arguments.layout is not None:
        return targets[0], parc.estimate(job, arguments.layout, targets[0])
    kept = kept_estimate(arguments.output.parent, job, targets) or compiled_estimate(job, targets)
    if kept is not None:
        return kept
    planned = plan_targets(job, arguments.target, progress)
    print_diagnostics(planned.diagnostics())
    if not planned.plans:
        return None
    return planned.plans[0].target, planned.plans[0].estimate


def _refuse_long(chosen: Layout, asked: int | None, schedule: str) -> None:
    """GPipe runs no backward pass before all micro-batches are in, so its beginning is the whole step."""
    from parc.compiler.schedule.timeline import event_count

    from ..printing.words.numbers import counted as told

    shown = min(asked or chosen.microbatches, chosen.microbatches)
    counted = chosen.microbatches if schedule == "gpipe" else shown
    if event_count(chosen.pp, chosen.vpp, counted) <= MOST_EVENTS:
        return
    each = event_count(chosen.pp, chosen.vpp, 1)
    fitting = MOST_EVENTS // each
    message = (
        f"{counted:,} micro-batches on {told(chosen.pp, 'rank')} of {told(chosen.vpp, 'chunk')} have up to "
        f"{event_count(chosen.pp, chosen.vpp, counted):,} events, more than {MOST_EVENTS:,}"
    )
    cure = f"--microbatches {fitting} shows the first ones"
    if not fitting:
        cure = "a trace needs fewer ranks or chunks: give others with --layout"
    elif schedule == "gpipe":
        cure = "a trace of gpipe needs a step of fewer micro-batches"
    raise JobError([Diagnostic(codes.TRACE_LONG, message, help=cure)])
