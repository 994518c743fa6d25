"""A layout and its placement of layers -> `Estimate`: memory of every stage by term, step time by part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..algebra import Integers
from ..case import Case
from ..headroom import ceiling_bytes
from ..pipeline.even_split import Split
from ..plan import Estimate, Layout
from ..time import context_exchange
from ..variables import ORDER, PLACE, with_derived
from . import goodput
from .quantities import time_quantities
from .ranks import Ranks


def one_row(case: Case, layout: Mapping[str, int]) -> dict[str, Integers]:
    """All variables of a layout, derived ones too, as columns of one row; `layout` gives every decision."""
    decided = {name: np.array([value], dtype=np.int64) for name, value in layout.items()}
    return with_derived(case.job, decided)


def layout_of(columns: Mapping[str, Integers]) -> Layout:
    """The layout in columns of one row."""
    return Layout(**{name: int(np.ravel(columns[name])[0]) for name in Layout.model_fields})


def decisions(case: Case, estimate: Estimate) -> dict[str, int]:
    """The decisions of an estimate's layout, and the number of its placement, 0 where it has none."""
    layout = estimate.layout
    place = case.placements.number(layout.pp, layout.vpp, estimate.split)
    return {**{name: getattr(layout, name) for name in ORDER}, PLACE: place}


def estimate_layout(
    case: Case, layout: Mapping[str, int], placement: Split | None = None
) -> Estimate:
    """Price a layout that gives every decision; `placement` defaults to the one that it gives the number of,
    without a number to the even one."""
    columns = one_row(case, layout)
    chosen = layout_of(columns)
    place = int(columns[PLACE][0])
    placement = placement or case.placements.split(chosen.pp, chosen.vpp, place)
    ranks = Ranks(case, columns)
    time = time_by_part(ranks, placement)
    totals = (np.array([value]) for value in (sum(time.values()), time.get("bubble", 0)))
    found = time_quantities(case, columns, *totals)
    values = {name: float(np.ravel(value)[0]) for name, value in found.items()}
    return Estimate(
        layout=chosen,
        stages=ranks.stages(placement),
        capacity_bytes=case.gpu.memory,
        ceiling_bytes=ceiling_bytes(case),
        time={part: value / 1e9 for part, value in time.items()},
        step_seconds=values["step_time"],
        mfu=values["mfu"],
        mfu_full_attention=values["mfu"] * case.model_flops_full_attention / case.model_flops,
        hfu=values["hfu"],
        tokens_per_second=values["tokens_per_second"],
        tflops_per_gpu=values["mfu"] * case.job.peak_flops / 1e12,
        days=values["days"] / 86400,
        cost=values["cost"],
        energy_joules=values["energy"],
        bubble=values["bubble"],
        cp_comm=context_exchange.word(case, chosen.tp, chosen.cp, chosen.micro_batch),
        step_spread=case.familiarity.step_spread,
        familiarity=case.familiarity.words,
        memory_spread=case.target.memory_spread,
        checkpoint=goodput.checkpoint(case, chosen.gpus),
        goodput=goodput.assumptions(case, chosen.gpus, values["step_time"]),
    )


def time_by_part(ranks: Ranks, placement: Split) -> dict[str, int]:
    """Nanoseconds of a step by part on the slowest rank; the parts add up to the step."""
    parts = ranks.step_parts(placement)
    return {part: value for part, value in parts.items() if value}
