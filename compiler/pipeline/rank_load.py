"""What the ranks of a pipeline hold: layers, parameters and micro-batches in flight, as terms by role.

Layers and parameters come from the even placement of `even_split.py`; micro-batches in flight from the
schedules (Megatron-core pipeline_parallel/schedules.py: warm-up of 1F1B and of the interleaved schedule).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra import Algebra, Term, term
from ..case import Case
from ..memory.model_states import KIB
from ..model import parameters
from ..model.parameters import Counts
from .even_split import ROLES, Split, recomputed, split

#: Fixed point of micro-batches in flight.
FLIGHT = 64


def rank_counts(case: Case, placement: Split, rank: int, tp: int) -> Counts:
    """Parameters of one pipeline rank by how they are divided, with the vocabulary padded for tp."""
    model, last = case.model, rank == len(placement.blocks) - 1
    dense, moe = placement.held(rank)
    predicted = model.mtp_layers if last else 0
    norms = case.traits.memory.block_norms(model) * (dense + moe + predicted)
    counts = case.dense_block * dense + Counts(replicated=norms)
    if moe:
        counts = counts + case.moe_block * moe
    vocab = int(case.vocab(tp))
    if rank == 0:
        embedding = parameters.embedding(model, vocab, case.seq_len)
        whole = Counts(replicated=embedding.total)
        counts = counts + (whole if case.traits.tensor.whole_embedding else embedding)
    if last:
        counts = counts + parameters.head(model, vocab) + case.mtp_blocks
        if rank > 0 and (model.tied or model.mtp_layers):
            counts = counts + Counts(sharded=vocab * model.hidden)
    return counts


def common_parameters(case: Case, placement: Split, rank: int, tp: int) -> int:
    """Parameters of a rank outside routed experts."""
    counts = rank_counts(case, placement, rank, tp)
    return int(parameters.per_rank(Counts(counts.sharded, counts.replicated), tp, 1))


def expert_parameters(case: Case, placement: Split, rank: int, expert_ways: int) -> int:
    """Parameters of a rank in routed experts."""
    return -(-rank_counts(case, placement, rank, 1).experts // expert_ways)


def in_flight(pp: int, vpp: int, microbatches: int, rank: int) -> float:
    """Micro-batches whose activations a rank holds at once, in whole rank-loads of layers."""
    if vpp == 1:
        return float(min(microbatches, pp - rank))
    chunks = 2 * (pp - rank - 1) + (vpp - 1) * pp + 1
    return min(microbatches * vpp, chunks) / vpp


def possible(case: Case, pp: int, vpp: int) -> bool:
    return pp * vpp <= max(1, case.model.layers + (2 if pp > 1 else 0))


def placed(case: Case, pp: int, vpp: int) -> Split | None:
    """The even placement, found once per case; None where there are more stages than layers."""
    if (pp, vpp) not in case.placements:
        even = split(case.model, pp, vpp) if possible(case, pp, vpp) else None
        case.placements[pp, vpp] = even
    return case.placements[pp, vpp]


def _by_role(unit: str, of: tuple[str, ...], name: str, value: Any) -> dict[str, Term]:
    """One term per role: the most that `value(case, placement, rank,
    **columns)` says of any rank of that role."""

    def build(role: str) -> Term:
        def function(case: Case, *columns: Any) -> Any:
            def one(named: dict[str, int]) -> float:
                placement = placed(case, named["pp"], named["vpp"])
                if placement is None:
                    return 0.0
                ranks = placement.ranks(role)
                return float(max(value(case, placement, rank, **named) for rank in ranks))

            like = np.broadcast_arrays(*columns)
            rows = zip(*(column.ravel().tolist() for column in like), strict=True)
            found = [one(dict(zip(of, row, strict=True))) for row in rows]
            return np.array(found, dtype=float).reshape(like[0].shape)

        function.__name__ = f"{role}_{name}"
        return term(unit, of)(function)

    return {role: build(role) for role in ROLES}


COMMON = _by_role(
    "Ki", ("tp", "pp", "vpp"), "common_parameters",
    lambda case, placement, rank, tp, **_: common_parameters(case, placement, rank, tp) / KIB,
)  # fmt: skip
EXPERTS = _by_role(
    "Ki", ("expert_ways", "pp", "vpp"), "expert_parameters",
    lambda case, placement, rank, expert_ways, **_: (
        expert_parameters(case, placement, rank, expert_ways) / KIB
    ),
)  # fmt: skip
KINDS = {"dense": 0, "moe": 1}
RECOMPUTING = ("pp", "vpp", "recompute", "recompute_layers")
HELD = {
    kind: _by_role(
        "1", ("pp", "vpp"), f"held_{kind}",
        lambda case, placement, rank, *, kind=kind, **_: placement.held(rank)[KINDS[kind]],
    )
    for kind in KINDS
}  # fmt: skip
PACED = {
    kind: _by_role(
        "1", ("pp", "vpp"), f"paced_{kind}",
        lambda case, placement, rank, *, kind=kind, **_: sum(
            chunk[KINDS[kind]] for chunk in placement.paced(rank)
        ),
    )
    for kind in KINDS
}  # fmt: skip
HELD_RECOMPUTED = {
    kind: _by_role(
        "1", RECOMPUTING, f"held_recomputed_{kind}",
        lambda case, placement, rank, recompute, recompute_layers, *, kind=kind, **_: recomputed(
            placement.blocks[rank], recompute, recompute_layers
        )[KINDS[kind]],
    )
    for kind in KINDS
}  # fmt: skip
PACED_RECOMPUTED = {
    kind: _by_role(
        "1", RECOMPUTING, f"paced_recomputed_{kind}",
        lambda case, placement, rank, recompute, recompute_layers, *, kind=kind, **_: recomputed(
            placement.paced(rank), recompute, recompute_layers
        )[KINDS[kind]],
    )
    for kind in KINDS
}  # fmt: skip
IN_FLIGHT = _by_role(
    "1/64", ("pp", "vpp", "microbatches"), "in_flight",
    lambda case, placement, rank, pp, vpp, microbatches: FLIGHT * in_flight(pp, vpp, microbatches, rank),
)  # fmt: skip


@term("1", of=("pp",))
def leading_ranks(case: Case, pp: Any) -> Any:
    """1 where the first rank is not the last."""
    return np.minimum(pp - 1, 1)


@term("1", of=("pp",))
def inner_ranks(case: Case, pp: Any) -> Any:
    return np.maximum(pp - 2, 0)


def all_ranks(x: Algebra, values: Mapping[str, Any]) -> Any:
    """Sum over all ranks of a pipeline of a value by role."""
    first = x.times(x.term(leading_ranks), values["first"])
    return first + x.times(x.term(inner_ranks), values["middle"]) + values["last"]


@dataclass(frozen=True)
class Load:
    """One rank as values of an algebra. `held` and `recomputed` blocks fill its memory, `paced` and
    `repeated` ones its time; Ki-parameters; micro-batches in flight (1/64);
    whether it has the embedding and the head.
    """

    held: dict[str, Any]
    recomputed: dict[str, Any]
    paced: dict[str, Any]
    repeated: dict[str, Any]
    common: Any
    experts: Any
    flight: Any
    first: bool
    last: bool


def role_load(x: Algebra, role: str) -> Load:
    """The load of a role, from the even placement."""

    def by_kind(terms: dict[str, dict[str, Term]]) -> dict[str, Any]:
        return {kind: x.term(terms[kind][role]) for kind in kinds(x.case)}

    return Load(
        held=by_kind(HELD),
        recomputed=by_kind(HELD_RECOMPUTED),
        paced=by_kind(PACED),
        repeated=by_kind(PACED_RECOMPUTED),
        common=x.term(COMMON[role]),
        experts=x.term(EXPERTS[role]) if x.case.model.moe else 0,
        flight=x.term(IN_FLIGHT[role]),
        first=role == "first",
        last=role == "last",
    )


def placed_load(case: Case, columns: Mapping[str, int], placement: Split, rank: int) -> Load:
    """The load of one rank of a given placement, for one layout."""
    pp, recompute = len(placement.blocks), (columns["recompute"], columns["recompute_layers"])
    paced = placement.paced(rank)

    def by_kind(counts: tuple[int, int]) -> dict[str, Any]:
        return {kind: counts[KINDS[kind]] for kind in kinds(case)}

    experts = (
        expert_parameters(case, placement, rank, columns["expert_ways"]) if case.model.moe else 0
    )
    return Load(
        held=by_kind(placement.held(rank)),
        recomputed=by_kind(recomputed(placement.blocks[rank], *recompute)),
        paced={kind: sum(chunk[KINDS[kind]] for chunk in paced) for kind in kinds(case)},
        repeated=by_kind(recomputed(paced, *recompute)),
        common=-(-common_parameters(case, placement, rank, columns["tp"]) // KIB),
        experts=-(-experts // KIB),
        flight=math.ceil(FLIGHT * in_flight(pp, columns["vpp"], columns["microbatches"], rank)),
        first=rank == 0,
        last=rank == pp - 1,
    )


def kinds(case: Case) -> tuple[str, ...]:
    """The kinds of blocks in the model."""
    if not case.model.moe:
        return ("dense",)
    return ("dense", "moe") if case.model.dense_layers else ("moe",)
