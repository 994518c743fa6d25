"""The best layouts of each number of GPUs -> seconds of a step over GPUs."""

from __future__ import annotations

from parc.compiler.plan import Plan
from parc.printing.words.numbers import seconds

from ..landscape import Landscape
from .common import Axis, Entry, Path, Plot, Scale, dots, ticks
from .layout_words import layout_words


def gpus(found: Landscape, plan: Plan) -> Plot | None:
    """A line over GPUs in seconds of a step; None where the job has one number of GPUs."""
    if not found.by_nodes:
        return None
    counts = [point.layout["nodes"] * plan.job.cluster.gpus_per_node for point in found.by_nodes]
    times = [point.step_seconds for point in found.by_nodes]
    across = Scale(0, 1.05 * max(counts))
    up = Scale(0, 1.1 * max(*times, plan.estimate.step_seconds))
    places = [(across.at(x), up.below(y)) for x, y in zip(counts, times, strict=True)]
    ours = (across.at(plan.layout.gpus), up.below(plan.estimate.step_seconds))
    said = [f"{x:,} GPUs: {seconds(y)}" for x, y in zip(counts, times, strict=True)]
    chosen = f"chosen: {plan.layout.gpus:,} GPUs, {seconds(plan.estimate.step_seconds)}"
    words, lines = layout_words(
        [*(point.layout for point in found.by_nodes), plan.layout.model_dump()]
    )
    return Plot(
        "Seconds of a step over GPUs; the table below has the numbers",
        300,
        Axis("GPUs", ticks(across, 8)),
        Axis("seconds of a step", ticks(up, 6, upwards=True)),
        (
            Path("line s1", "M" + "L".join(f"{x} {y}" for x, y in places)),
            Path("dots s1", dots(places)),
            Path("dots chosen", dots([ours])),
        ),
        legend=(Entry("dot s1", "best layout of each number"), Entry("dot chosen", "chosen")),
        hover={
            "kind": "points",
            "words": words,
            "sets": [
                [
                    {"text": text, "layout": line}
                    for text, line in zip(said, lines[:-1], strict=True)
                ],
                [{"text": chosen, "layout": lines[-1]}],
            ],
        },
    )
