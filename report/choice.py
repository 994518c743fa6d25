"""A plan -> sentences on why it was chosen, as `parc plan` says them, without the terminal's lines."""

from __future__ import annotations

from collections.abc import Iterable

from parc.compiler.plan import Plan
from parc.dsl.open_settings import words_of
from parc.printing import advice_text, choice_text, fewer_text, settings_text
from parc.printing.words.layouts import layout_text
from parc.printing.words.numbers import mfu, risk
from parc.printing.words.paragraphs import BELOW

GIB = 2**30


def choice(plan: Plan) -> str:
    """Why this layout was chosen, and which of the settings that the job leaves open."""
    why = _sentence(choice_text.choice(plan))
    ran = choice_text.expected_lines(plan.estimate.step_seconds, plan.measured)
    for differs in (ran, choice_text.simulated_lines(plan)):
        why = f"{why} {_sentence(differs)}" if differs else why
    if not plan.settings:
        return why
    return f"Of the settings that the job leaves open: {words_of(plan.settings)}. {why}"


def fastest(plan: Plan, least_seconds: float) -> str:
    """Why the chosen layout is not the one whose step takes `least_seconds`, the fewest of the landscape."""
    ahead = plan.estimate.step_seconds / least_seconds - 1
    if ahead < advice_text.EQUAL:
        return "The chosen layout is the fastest of them."
    first = f"The fastest is predicted {ahead:.1%} faster than the chosen one.".replace("%", " %")
    if choice_text.fastest(plan) == "best":
        direction, quantity = choice_text.objective(plan)
        return f"{first} The goal is to {direction} {quantity}, not the time of a step."
    simulated = plan.simulated is not None and plan.simulated.instead is not None
    told = plan.best is not None or plan.measured is not None or simulated
    return f"{first} {_sentence(choice_text.choice(plan))}" if told else first


def fewer(plan: Plan) -> str:
    """Whether fewer nodes would do; empty where only all do."""
    text = fewer_text.fewer(plan)
    return f"{text}." if text else ""


def faster(plan: Plan) -> list[str]:
    """The settings that would make the layout much faster, by how much, and what each needs."""
    return [settings_text.worthwhile(each) for each in plan.worthwhile]


def doubt(plan: Plan) -> str:
    """How sure the choice is; empty where there is no other to be in doubt with."""
    return _sentence(choice_text.doubt_lines(plan))


def runners_up(plan: Plan) -> list[tuple[str, str, str, str, str]]:
    """Each next best prediction: how much worse, what it does otherwise, MFU, memory and risk."""
    return [
        (
            choice_text.worse(plan, other),
            choice_text.otherwise(plan, other),
            layout_text(other.layout),
            mfu(other),
            f"{other.memory_bytes / GIB:.1f} GiB, {risk(other.out_of_memory)}",
        )
        for other in plan.runners_up
    ]


def proof(plan: Plan, timed: bool) -> str:
    """The proof of the plan in words; `timed` adds how long it took."""
    found = plan.proof
    others = ", and bounds rule out all others" if found.ruled_out else ""
    counted = f"{found.layouts:,} layouts were priced{others}"
    took = f" The search and its proof took {found.seconds:.2f} s." if timed else ""
    if found.status != "OPTIMAL":
        return f"The best that was found: {counted}. The solver ended before it was proven.{took}"
    return (
        f"The solver proved that no layout has a better prediction under the goal "
        f"({found.objective}, {found.value:.6g}): {counted}.{took}"
    )


def binding(plan: Plan) -> list[tuple[str, str]]:
    """Each condition that binds, and what the objective would gain without it."""
    return [(each.rpartition(": ")[0], each.rpartition(": ")[2]) for each in plan.binding]


def _sentence(lines: Iterable[str]) -> str:
    text = " ".join(line[len(BELOW) :].strip() for line in lines)
    text = text.replace(" how the ", ". How the ", 1)
    return text[:1].upper() + text[1:] + "." * bool(text)
