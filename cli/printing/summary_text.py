"""Plans -> what a person asks first: what to run, how fast, whether it fits, how sure, what is faster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parc.backends import BACKENDS
from parc.compiler.plan import Layout, Plan
from parc.dsl.open_settings import words_of

from ..api import Planned
from .advice_text import may_be_tried
from .choice_text import expected_lines, fastest
from .fewer_text import fewer_lines
from .plan_text import GIB, error_bar, reached, target_rows, title, trained
from .settings_text import worthwhile_lines
from .words.layouts import layout_parts, layout_text, split_text, splitting
from .words.numbers import risk, seconds
from .words.paragraphs import columns, parts, words

if TYPE_CHECKING:
    from rich.text import Text

#: Lines of the best plan at most; what has no room is in the long form.
LINES = 8
#: Settings that are told to make it faster.
SETTINGS = 2
#: Said of a target that may be as good as the best one.
WITHIN = "within the error bar"


def summary_text(planned: Planned) -> Text:
    """The best plan in LINES lines, and a line for each other target."""
    from rich.text import Text

    best = planned.plans[0]
    text = Text("\n".join([*title(planned.job, best.layout), "", *_best(best), *_others(planned)]))
    text.highlight_regex(r"\A\S+", "bold")
    text.highlight_regex(rf"(?<=^  run     ){best.target}", "bold green")
    return text


def _best(plan: Plan) -> list[str]:
    lines = [*_run(plan), *_speed(plan), *_memory(plan), *_doubt(plan)]
    for said in _offers(plan):
        if len(lines) + len(said) <= LINES:
            lines += said
    return lines


def _run(plan: Plan) -> list[str]:
    first, *others = layout_parts(plan.layout)
    head = "  run     " if plan.target in BACKENDS else "  layout  "
    lines = parts(head, [f"{plan.target}: {first}", *others])
    return [*lines, *words("  with    ", words_of(plan.settings))] if plan.settings else lines


def _speed(plan: Plan) -> list[str]:
    estimate = plan.estimate
    step = f"{seconds(estimate.step_seconds)} a step {error_bar(estimate)}"
    return parts("  speed   ", [step, *reached(plan.job, estimate), *trained(plan.job, estimate)])


def _memory(plan: Plan) -> list[str]:
    estimate = plan.estimate
    used = f"{estimate.memory_bytes / GIB:.1f} of {estimate.ceiling_bytes / GIB:.1f} GiB"
    chance = f"{risk(estimate.out_of_memory)} risk of running out"
    return words("  memory  ", f"{used} on the fullest GPU, {chance}")


def _doubt(plan: Plan) -> list[str]:
    """How sure the choice is, in a sentence."""
    doubt = plan.doubt
    if doubt is None or doubt.contenders == 1:
        return []
    loss = f"expected loss {doubt.regret:.1%}"
    if doubt.settled or not doubt.rivals:
        said = f"{risk(doubt.chance)} chance that this is the {fastest(plan)}; {loss}"
    else:
        rival = doubt.rivals[0]
        own = f"this split {risk(doubt.chance_of_split)}"
        said = (
            f"{splitting(rival.layout)} may be better ({risk(rival.chance)} chance, {own}); {loss}"
        )
    return words("  doubt   ", f"{said}; short runs tell (below)" if may_be_tried(plan) else said)


def _offers(plan: Plan) -> Iterator[list[str]]:
    """Paragraphs that are told where they have room, the more important first."""
    yield expected_lines(plan.estimate.step_seconds, plan.measured)
    for setting in plan.worthwhile[:SETTINGS]:
        yield worthwhile_lines(plan.model_copy(update={"worthwhile": (setting,)}))
    yield fewer_lines(plan)


def _others(planned: Planned) -> list[str]:
    """A line for each other target, with as much of its layout as fits beside what it reaches."""
    best, *others = (plan.layout for plan in planned.plans)
    if not others:
        return []
    room = columns() - max(map(len, target_rows(planned, lambda _: "", WITHIN)[1:])) - 2

    def shown(layout: Layout) -> str:
        if layout is best:
            return ""
        texts = (layout_text(layout), split_text(layout))
        return next((text for text in texts if len(text) <= room), splitting(layout))

    return ["", *target_rows(planned, shown, WITHIN)[1:]]
