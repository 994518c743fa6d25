"""An `Explanation` -> text for a person: the choice, what binds, what if, who loses by what, how sure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from parc.compiler.explain.answers import Best, loss
from parc.compiler.explain.conditions import Binding, Step
from parc.compiler.explain.difference import Term
from parc.compiler.explain.explaining import Explanation
from parc.compiler.explain.sensitivity import Threshold
from parc.compiler.explain.what_if import Alternative
from parc.compiler.search.layout_text import layout_text, quantity_text
from parc.compiler.variables import ORDER
from parc.dsl.expression import VALUES, VARIABLES

from .choice_text import settings_lines, within_noise
from .words.numbers import seconds
from .words.paragraphs import words

GIB = 2**30
#: Terms of a difference that are named; the others are summed.
NAMED = 3
#: Values of one decision that are printed, the best first; JSON has all.
MOST_VALUES = 12
#: So many numbers in a row are printed as the first and the last of them.
NEIGHBOURS = 4


def explanation_text(explained: Explanation) -> str:
    """Every part under its heading."""
    sections = {
        "Why this layout": _choice(explained),
        "What binds": _bindings(explained),
        "What if": _alternatives(explained),
        "Who loses, and by what": _runners_up(explained),
        "What would change the choice": _thresholds(explained),
    }
    shown = [[heading, *lines] for heading, found in sections.items() if (lines := list(found))]
    return "\n\n".join("\n".join(section) for section in shown)


def _choice(explained: Explanation) -> Iterator[str]:
    """From the bare optimum to the choice, with what each concession costs."""
    best, bare, quantity = explained.best, explained.bare, explained.quantity
    if bare.score < best.score:
        yield from words("  no condition    ", _valued(quantity, bare))
    yield from words("  under the goal  ", _valued(quantity, best) + _concession(bare, best))
    yield from words("  chosen          ", _chosen(explained))
    if explained.exchanges:
        yield from words("  cp_comm         ", _exchanges(explained))


def _exchanges(explained: Explanation) -> str:
    """`p2p; all_gather 1.2 % slower, a2a does not divide the heads`"""
    estimate = explained.plan.estimate
    said = []
    for each in explained.exchanges:
        if each.way == estimate.cp_comm:
            continue
        if each.seconds is None:
            said.append(f"{each.way} does not divide the heads")
        else:
            slower = each.seconds / estimate.step_seconds - 1
            said.append(f"{each.way} {abs(slower):.2%} {'slower' if slower >= 0 else 'faster'}")
    return f"{estimate.cp_comm}; {', '.join(said)}"


def _valued(quantity: str, best: Best) -> str:
    return f"{quantity_text(quantity, best.value)} with {layout_text(best.layout)}"


def _concession(bare: Best, best: Best) -> str:
    return f", {_worse(loss(bare.score, best.score))}" if bare.score < best.score else ""


def _chosen(explained: Explanation) -> str:
    plan = explained.plan
    if plan.best is None:
        return "that one"
    layout = layout_text(plan.layout.model_dump())
    if plan.measured is not None and plan.measured.layouts:
        return f"{layout}, {_worse(explained.margin)} as predicted, better by the layouts that ran"
    if plan.simulated is not None and plan.simulated.instead is not None:
        longer = plan.simulated.instead_seconds / plan.simulated.step_seconds - 1
        lost = layout_text(plan.simulated.instead.model_dump())
        worse = f"{_worse(explained.margin)} as predicted"
        return f"{layout}, {worse}: simulated, {lost} takes {longer:.1%} longer"
    why = f"preferred, simpler or roomier, and {within_noise(plan)}"
    return f"{layout}, {_worse(explained.margin)}: {why}"


def _bindings(explained: Explanation) -> Iterator[str]:
    for each in explained.bindings:
        place = f" ({each.place})" if each.place else ""
        gain = f"{each.gain:.1%} better without it, with {layout_text(each.best.layout)}"
        yield from words("  ", f"{each.text}{place}: {gain}")
        if each.step is not None:
            yield from words("    ", _step(each, each.step))
    if not explained.bindings:
        yield "  nothing: no condition excludes a better layout"


def _step(binding: Binding, step: Step) -> str:
    limit = f"moving the limit to {_limit(step)} gains"
    if step.best.layout == binding.best.layout:
        return f"{limit} the full {step.gain:.2%}"
    return f"{limit} {step.gain:.2%}, with {layout_text(step.best.layout)}"


def _limit(step: Step) -> str:
    if step.name == "host_memory":
        return quantity_text("memory", step.limit).replace("memory", "host memory")
    if step.name in VARIABLES:
        return f"{step.name} {_word(step.name, int(step.limit))}"
    return quantity_text(step.name, step.limit)


def _alternatives(explained: Explanation) -> Iterator[str]:
    """The settings that the job leaves open, then the decisions."""
    yield from settings_lines(explained.plan)
    names = [len(each.decision) for each in explained.alternatives]
    for decision, found in groupby(explained.alternatives, lambda each: each.decision):
        head = f"  {decision:<{max(names)}}  "
        values = list(found)
        for line in _values(values, explained):
            yield from words(head, line)
            head = " " * len(head)


def _values(values: Sequence[Alternative], explained: Explanation) -> Iterator[str]:
    """A line for each value that a layout has, then one for each reason why others have none."""
    chosen = explained.plan.layout.model_dump()
    possible = [each for each in values if each.best is not None]
    near = sorted(possible, key=lambda each: (not each.chosen, each.worse))[:MOST_VALUES]
    for each in sorted(near, key=lambda each: values.index(each)):
        mark = "chosen" if each.chosen else _worse(each.worse or 0.0)
        yield f"{each.word}: {mark}{_changes(each, chosen)}"
    if len(possible) > len(near):
        yield f"{len(possible) - len(near)} other values are worse than these (--json has them)"
    excluded = [each for each in values if each.best is None]
    for why in dict.fromkeys(each.why for each in excluded):
        same = listed([each.word for each in excluded if each.why == why])
        yield f"{same}: {why}"


def listed(words: Sequence[str | int]) -> str:
    """`1 to 79, 128`: the words in their order, and of neighbouring numbers the first and the last."""
    texts = []
    pairs = groupby(
        enumerate(words), lambda pair: pair[1] - pair[0] if isinstance(pair[1], int) else None
    )
    for _, run in pairs:
        found = [str(word) for _, word in run]
        close = len(found) >= NEIGHBOURS and found[0].isdecimal()
        texts += [f"{found[0]} to {found[-1]}"] if close else found
    return ", ".join(texts)


def _changes(alternative: Alternative, chosen: Mapping[str, int]) -> str:
    """The other decisions in which the best layout with a value differs than the chosen one."""
    if alternative.best is None or alternative.chosen:
        return ""
    changed = [
        f"{name} {_word(name, chosen[name])} → {_word(name, value)}"
        for name, value in alternative.best.layout.items()
        if name != alternative.decision and value != chosen[name]
    ]
    return f", {' · '.join(changed)}" if changed else ""


def _word(name: str, value: int) -> str | int:
    words = {number: word for word, number in VALUES.get(name, {}).items()}
    return words.get(value, value)


def _runners_up(explained: Explanation) -> Iterator[str]:
    for each in explained.runners_up:
        longer = each.seconds / each.here.step_seconds
        changed = " · ".join(
            f"{name} {ours} → {theirs}" for name, ours, theirs in each.decisions if name in ORDER
        )
        yield from words("  ", f"{_worse(longer)}: {changed}")
        yield from words("    ", terms_text(each.time))


def terms_text(terms: Sequence[Term]) -> str:
    """The terms that change most, in seconds: what loses first, then what gains, and the sum of the rest."""
    named, rest = terms[:NAMED], sum(each.change for each in terms[NAMED:])
    sides = (("loses", 1), ("gains", -1))
    shown = [
        f"{verb} " + " · ".join(f"{each.name} {seconds(abs(each.change))}" for each in side)
        for verb, sign in sides
        if (side := [each for each in named if each.change * sign > 0])
    ]
    if len(terms) > NAMED:
        shown.append(f"others {'+' if rest > 0 else '-'}{seconds(abs(rest))}")
    return ", ".join(shown)


def _thresholds(explained: Explanation) -> Iterator[str]:
    falling = [each for each in explained.thresholds if each.value is not None]
    chosen = explained.plan.layout.model_dump()
    for each in falling:
        yield from words("  ", f"{_error(each, each.value or 0)} ({each.deviations:.1f} σ)")
        yield from words("    ", _instead(each.layout, chosen, explained.plan.job.goal.within))
    if standing := _standing(explained.thresholds):
        yield from words("  ", standing)


def _standing(thresholds: Sequence[Threshold]) -> str:
    """The errors that do not change the choice, with the factors or the share up to which that holds."""
    ends: dict[str, list[float]] = {}
    for each in thresholds:
        if each.value is None:
            ends.setdefault(each.error.parameter, []).append(each.farthest)
    if not ends:
        return ""
    shown = [
        " to ".join([f"{name} {min(found):.3g}", *(f"{end:.3g}" for end in sorted(found)[1:])])
        for name, found in ends.items()
    ]
    return f"the choice is robust (±3 σ) to factors of time: {' · '.join(shown)}"


def _error(threshold: Threshold, value: float) -> str:
    """`if network is 27% slower than modelled`."""
    if threshold.error.overlap:
        return f"if {value:.0%} of overlapped traffic is exposed"
    off = f"{value - 1:.0%} slower" if value >= 1 else f"{1 - value:.0%} faster"
    return f"if {threshold.error.parameter} is {off} than modelled"


def _instead(layout: Mapping[str, int] | None, chosen: Mapping[str, int], within: float) -> str:
    if layout is None:
        return "then no layout satisfies the goal"
    changed = " · ".join(
        f"{name} {_word(name, chosen[name])} → {_word(name, value)}"
        for name, value in layout.items()
        if value != chosen[name]
    )
    return (
        f"then {changed} is more than {within:.0%} better" if changed else "then it fails the goal"
    )


def _worse(share: float) -> str:
    if abs(share) < 5e-5:
        return "as good"
    digits = 1 if abs(share) >= 5e-4 else 2
    return f"{abs(share):.{digits}%} {'worse' if share > 0 else 'better'}"
