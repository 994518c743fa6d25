"""An estimate -> where a step's time goes, part by part, and the range that the whole is expected in."""

from __future__ import annotations

from parc.compiler.plan import Estimate
from parc.compiler.risk import band
from parc.printing.words.numbers import seconds
from parc.printing.words.terms import OF_TIME

from .common import Bar


def step(estimate: Estimate) -> list[Bar]:
    """The whole step with its error bar, then its parts, the longest first."""
    parts = sorted(estimate.time.items(), key=lambda part: -part[1])
    whole = estimate.step_seconds
    low, high = band(whole, estimate.step_spread)
    interval = f"four runs in five take {seconds(low)} to {seconds(high)}"
    total = Bar(
        "step",
        seconds(whole),
        interval,
        100 * whole / high,
        chosen=True,
        low=100 * low / high,
        high=100.0,
    )
    return [
        total,
        *(
            Bar(
                name,
                f"{seconds(value)} · {value / whole:.1%}".replace("%", " %"),
                OF_TIME.get(name, ""),
                100 * value / high,
            )
            for name, value in parts
            if value > 0
        ),
    ]
