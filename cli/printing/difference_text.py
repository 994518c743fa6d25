"""Two priced layouts, or a prediction and a run -> a table of what differs, term by term."""

from __future__ import annotations

from collections.abc import Iterator

from parc.calibrate.predicted_run import Ran
from parc.compiler.explain.against import Against
from parc.compiler.explain.difference import Difference, Term

from .choice_text import expected_lines
from .explanation_text import terms_text
from .words.layouts import layout_text
from .words.numbers import seconds
from .words.paragraphs import words

GIB = 2**30
#: Columns of the longest bar of a change.
BAR = 14
#: Share of the sum below which a change is summed with others.
SMALL = 0.001
#: Share of a step below which two are called as fast.
EQUAL = 0.0005


def against_text(target: str, against: Against) -> str:
    """The verdict on the given layout beside the plan's of the target, then why, then the waterfalls of time
    and memory."""
    found = against.difference
    lines = [
        *words("", _verdict(target, against)),
        "",
        *words("  layout  ", layout_text(found.there.layout)),
    ]
    lines += [line for each in against.breaks for line in words("  breaks  ", each)]
    if not found.decisions:
        return "\n".join(lines)
    if changed := terms_text(found.time):
        lines += words("  why     ", changed)
    lines.append(f"  step    {_scaled(found)}")
    lines += _waterfall(found.time, found.here.step_seconds, 1.0, "s")
    lines += expected_lines(found.there.step_seconds * found.scale, against.measured)
    before, after = (each.memory_bytes / GIB for each in (found.here, found.there))
    lines += words("  memory  ", f"{before:.1f} → {after:.1f} GiB on the fullest GPU")
    lines += _waterfall(found.memory, float(found.here.memory_bytes), GIB, "GiB")
    return "\n".join(lines)


def _verdict(target: str, against: Against) -> str:
    found = against.difference
    if not found.decisions:
        return f"The given layout is the one that {target}'s plan chose."
    longer = found.seconds / found.here.step_seconds
    if abs(longer) < EQUAL:
        speed = f"as fast as {target}'s plan"
    else:
        speed = f"{abs(longer):.1%} {'slower' if longer > 0 else 'faster'} than {target}'s plan"
    ours, theirs = (seconds(each.step_seconds) for each in (found.here, found.there))
    said = f"The given layout is predicted {speed}: {theirs} a step against {ours}."
    if not against.breaks:
        return said
    return f"{said} It cannot be chosen: {'; '.join(against.breaks)}."


def _scaled(found: Difference) -> str:
    there = seconds(found.there.step_seconds * found.scale)
    scaled = f", for {found.here.layout.gpus:,} GPUs" if found.scale != 1 else ""
    longer = found.seconds / found.here.step_seconds
    return f"{seconds(found.here.step_seconds)} → {there}{scaled}, {longer:+.1%}"


def _waterfall(terms: tuple[Term, ...], whole: float, unit: float, name: str) -> Iterator[str]:
    """A line for each term that changes, its bar to the right where it grows."""
    large = [each for each in terms if abs(each.change) >= SMALL * whole]
    rest = [each for each in terms if each not in large]
    if rest:
        here, there = (sum(getattr(each, side) for each in rest) for side in ("here", "there"))
        large.append(Term("others", here, there))
    most = max((abs(each.change) for each in large), default=1.0) or 1.0
    for each in large:
        bar = "█" * round(BAR * abs(each.change) / most)
        grows = each.change > 0
        sides = f"{'' if grows else bar:>{BAR}}│{bar if grows else '':<{BAR}}".rstrip()
        yield (
            f"    {each.name.replace('_', ' '):<12}{each.here / unit:>8.2f} → {each.there / unit:>8.2f} "
            f"{each.change / unit:>+8.2f} {name:<3} {sides}"
        )


def ran_text(ran: Ran) -> str:
    """Figures that a log measured beside what was predicted of its layout."""
    steps, predicted = ran.run.steps, ran.predicted
    rows = (
        ("step", seconds(predicted.step_seconds), seconds(steps.seconds)),
        ("MFU", f"{predicted.mfu:.1%}", f"{ran.mfu:.1%}"),
        ("tokens/s", f"{predicted.tokens_per_second:,.0f}", f"{ran.tokens_per_second:,.0f}"),
        *((part.name, seconds(part.predicted), seconds(part.measured)) for part in ran.parts),
    )
    if (memory := ran.memory) is not None:
        told, found = (f"{value / 2**30:.1f} GiB" for value in (memory.predicted, memory.measured))
        rows = (*rows, ("memory", told, found))
    lines = ["Predicted and measured"]
    lines += words("  layout    ", f"{ran.run.target}: {layout_text(predicted.layout)}")
    if ran.run.filled:
        lines += words("            ", f"the log does not tell {', '.join(ran.run.filled)}")
    lines.append(f"  {'':<10}{'predicted':>12}{'measured':>12}")
    lines += [f"  {name:<10}{told:>12}{found:>12}" for name, told, found in rows]
    side = "within" if ran.expected else "outside"
    text = (
        f"the step took {ran.ratio:.2f} times as predicted, {side} the band of four of five runs; "
        f"its {steps.reports} reports vary by {steps.spread:.1%}"
    )
    known = expected_lines(predicted.step_seconds, ran.known)
    return "\n".join([*lines, *words("  ", text), *known])
