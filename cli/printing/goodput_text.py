"""The goodput of an estimate -> text: the share of wall-clock time in which it trains, and why."""

from __future__ import annotations

from parc.compiler.plan import Estimate

from .words.numbers import counted, number, seconds, span, stored
from .words.paragraphs import words


def goodput_lines(estimate: Estimate) -> list[str]:
    """Nothing where the cluster does not say how often it fails."""
    found = estimate.goodput
    if found is None:
        return []
    waits = (
        ""
        if found.stopped_seconds == found.write_seconds
        else (f", for which training stops {seconds(found.stopped_seconds)}")
    )
    return words(
        "  goodput ",
        f"{found.share:.1%} of wall-clock time: {number(found.failures_per_day)} failures a day, "
        f"one in {span(found.mtbf_seconds)}; a checkpoint of {stored(found.checkpoint_bytes)} takes "
        f"{span(found.write_seconds)}{waits}, each {span(found.interval_seconds)} "
        f"({counted(found.interval_steps, 'step')}); a failure loses {span(found.lost_seconds)} and the "
        "steps since the last one",
    )
