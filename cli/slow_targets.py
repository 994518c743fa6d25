"""Plans of a job, the best first -> a warning for each target on which it hardly trains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parc.backends import BACKENDS
from parc.compiler.plan import Plan
from parc.dsl.diagnostics import Diagnostic

from . import codes
from .printing.words.numbers import seconds

#: How many times as long as another target's a step is slow, and the MFU below which one is in any case: of
#: the plans of all examples DeepSpeed's of 405B on 16,384 GPUs have 5 and 3 %, and the next has 23 %.
TIMES, LEAST_MFU = 2.0, 0.10


def slow_targets(plans: Sequence[Plan]) -> Iterator[tuple[str, Diagnostic]]:
    """The targets on which a job hardly trains. Nothing of plans whose GPUs differ in number: they are
    chosen to be few. What no framework runs is no measure of those that do."""
    frameworks = [plan for plan in plans if plan.target in BACKENDS]
    for plan in plans:
        fastest = min(frameworks or plans, key=lambda each: each.estimate.step_seconds)
        times = plan.estimate.step_seconds / fastest.estimate.step_seconds
        if plan.layout.gpus == fastest.layout.gpus and times > TIMES:
            other = f"{times:.1f} times as long as on {fastest.target}"
            help = f"leave it out, or say `--target {fastest.target}`"
            yield plan.target, _slow(plan, f"takes {other}", help)
        elif plan.estimate.mfu < LEAST_MFU:
            name, took = max(plan.estimate.time.items(), key=lambda term: term[1])
            share = f"{took / plan.estimate.step_seconds:.0%} of it {name}"
            help = (
                "`parc explain` tells what holds it up; fewer GPUs, or another target, waste less"
            )
            yield plan.target, _slow(plan, f"is {share}", help)


def _slow(plan: Plan, why: str, help: str) -> Diagnostic:
    step = f"a step of {plan.target}'s plan, {seconds(plan.estimate.step_seconds)}"
    return Diagnostic(
        codes.SLOW_TARGET,
        f"{step} at {plan.estimate.mfu:.1%} MFU, {why}",
        plan.job.span("target", plan.target),
        severity="warning",
        help=help,
    )
