"""A layout under any placement of its layers -> time of a micro-batch and memory, of each pipeline rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..algebra import KIB, Column, Integers, Numbers
from ..case import Case
from ..memory import model_states, peak
from ..pipeline.even_split import Split
from ..pipeline.rank_load import Load, placed_load
from ..plan import Stage
from ..time import step
from ..time.gradient_sync import fullest

#: Bytes per parameter by kind of state: outside routed experts, and in them.
Widths = tuple[dict[str, Column], dict[str, Column]]


class Ranks:
    """The pipeline ranks of one layout, by its variables or columns of one row; those of equal loads are
    timed once."""

    def __init__(self, case: Case, columns: Mapping[str, int | Integers]):
        at = {name: int(np.ravel(column)[0]) for name, column in columns.items()}
        self.x = Numbers(case, at)
        self._timed: list[tuple[Load[int], dict[str, int]]] = []

    def loads(self, placement: Split) -> list[Load[int]]:
        return [self.load(placement, rank) for rank in range(len(placement.chunks))]

    def load(self, placement: Split, rank: int) -> Load[int]:
        return placed_load(self.x.case, self.x.columns, placement, rank)

    def slots(self, placement: Split) -> list[dict[str, int]]:
        """Nanoseconds of one micro-batch by part, for each rank in order."""
        return [self.slot(load) for load in self.loads(placement)]

    def step_parts(self, placement: Split) -> dict[str, int]:
        """Nanoseconds of a step by part, with those of a micro-batch on the slowest rank."""
        loads = self.loads(placement)
        slots = [self.slot(load) for load in loads]
        totals = [sum(parts.values()) for parts in slots]
        slowest = totals.index(max(totals))
        others = sum(totals) - totals[slowest]
        return step.step_parts(self.x, slots[slowest], others, fullest(self.x, loads))

    def slot(self, load: Load[int]) -> dict[str, int]:
        """Nanoseconds of one micro-batch by part: however many are in flight, a rank takes as long."""
        timed = replace(load, flight=0)
        for known, parts in self._timed:
            if known == timed:
                return parts
        self._timed.append((timed, step.slot(self.x, timed)))
        return self._timed[-1][1]

    def memory_kib(self, load: Load[int]) -> int:
        return sum(peak.rank_memory(self.x, load).values())

    def stages(self, placement: Split) -> tuple[Stage, ...]:
        """Every rank with its memory by term."""
        return tuple(
            Stage(
                index=rank,
                layers=placement.chunks[rank],
                embedding=load.first,
                head=load.last,
                memory=self.memory(load),
            )
            for rank, load in enumerate(self.loads(placement))
        )

    def memory(self, load: Load[int]) -> dict[str, int]:
        """Bytes by term at a rank's peak; the terms add up to the solver's `rank_memory`. States are split by
        kind, and the transient memory into activations and what is allocated on top of them."""
        total = {term: kib * KIB for term, kib in peak.rank_memory(self.x, load).items()}
        moments = {name: kib * KIB for name, kib in peak.moments(self.x, load).items()}
        fullest = max(moments, key=lambda name: moments[name])
        updating = fullest == "update"
        states = _states(load, self._widths, total["states"])
        absent = 0 if updating else KIB * peak.unallocated_gradients(self.x, load)
        absent = min(absent, states["gradients"])
        activations = 0 if updating else KIB * peak.activations(self.x, load)
        transient = moments[fullest] - activations + absent
        return {
            **states,
            "weights": states["weights"] + total["copied_weights"],
            "gradients": states["gradients"] - absent,
            "activations": activations,
            "logits": transient if fullest == "logits" else 0,
            "workspace": 0 if fullest == "logits" else transient,
            "fragments": total["fragments"],
            "buffers": total["buffers"],
        }

    @cached_property
    def _widths(self) -> Widths:
        """The widths of weights, gradients and optimizer state under the layout's ZeRO stage."""
        x = self.x
        zero, offload, hpz = (x.variable(name) for name in ("zero", "offload", "hpz"))
        common, routed = (
            model_states.state_widths(x.case, zero, x.variable(shard), offload, hpz)
            for shard in ("shard", "expert_shard")
        )
        return common, routed


def _states(load: Load[int], widths: Widths, whole: int) -> dict[str, int]:
    """`whole` bytes of model states split by kind."""
    common, routed = widths
    parts = {
        kind: float(load.common * common[kind] + load.experts * routed[kind]) for kind in common
    }
    scale = whole / max(sum(parts.values()), 1e-9)
    weights, gradients = (int(parts[kind] * scale) for kind in ("weights", "gradients"))
    return {
        "weights": weights,
        "gradients": gradients,
        "optimizer": whole - weights - gradients,
    }
