"""Plans of several targets -> their MFU side by side, with the range that each is expected in."""

from __future__ import annotations

from collections.abc import Sequence

from parc.compiler.plan import Plan
from parc.printing.words.layouts import layout_parts
from parc.printing.words.numbers import seconds
from parc.printing.words.paragraphs import BETWEEN

from .common import GIB, Bar


def targets(plans: Sequence[Plan]) -> list[Bar]:
    """Bars of MFU, the best plan on top; error bars hold four runs in five. GPUs are told where plans take
    different numbers of them."""
    most = max(plan.estimate.mfu_band[1] for plan in plans)
    counts = len({plan.layout.gpus for plan in plans}) > 1
    bars = []
    for place, plan in enumerate(plans):
        estimate = plan.estimate
        low, high = estimate.mfu_band
        about = [
            *([f"{estimate.gpus:,} GPUs"] if counts else []),
            f"{seconds(estimate.step_seconds)} a step",
            f"{estimate.memory_bytes / GIB:.1f} GiB",
            *layout_parts(plan.layout),
        ]
        bars.append(
            Bar(
                plan.target,
                f"MFU {100 * estimate.mfu:.1f} % ({100 * low:.0f}–{100 * high:.0f})",
                BETWEEN.join(about),
                100 * estimate.mfu / most,
                chosen=not place,
                low=100 * low / most,
                high=100 * high / most,
            )
        )
    return bars
