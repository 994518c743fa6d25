"""A placement -> the load of its ranks: layers, parameters and micro-batches in flight, as terms by role.

Layers and parameters come from the even placement of `even_split.py`; micro-batches in flight from the
schedules (Megatron-core pipeline_parallel/schedules.py: warm-up of 1F1B and of the interleaved schedule).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic

from ...dsl.arrays import np
from ..algebra import KIB, Algebra, Column, Term, Value, term
from ..case import Case
from ..model import parameters
from ..model.parameters import Counts
from . import schedule
from .even_split import ROLES, Split, fills_stages, recomputed, split, summed

#: Denominator of micro-batches in flight, kept as an integer.
FLIGHT = 64


def rank_counts(case: Case, placement: Split, rank: int, tp: int) -> Counts:
    """Parameters of one pipeline rank by how they are divided, with the vocabulary padded for tp."""
    model, last = case.model, rank == len(placement.blocks) - 1
    dense, moe = placement.held(rank)
    counts = case.dense_block * dense
    if moe:
        counts = counts + case.moe_block * moe
    vocab = int(case.vocab(tp))
    if rank == 0:
        embedding = parameters.embedding(model, vocab, case.seq_len)
        whole = Counts(replicated=embedding.total)
        counts = counts + (whole if case.traits.tensor.whole_embedding else embedding)
    if last:
        counts = counts + parameters.head(model, vocab) + case.mtp_blocks
        # Away from the first stage the tied output and the inputs of multi-token prediction have a table each
        # (Megatron-core gpt_model.py: output_layer, and embedding where mtp_process).
        tables = (model.tied + (model.mtp_layers > 0)) if rank > 0 else 0
        counts = counts + Counts(sharded=vocab * model.hidden) * tables
    return counts


def common_parameters(case: Case, placement: Split, rank: int, tp: int) -> int:
    """Parameters of a rank outside routed experts."""
    counts = rank_counts(case, placement, rank, tp)
    return int(parameters.per_rank(Counts(counts.sharded, counts.replicated), tp, 1))


def expert_parameters(case: Case, placement: Split, rank: int, expert_ways: int) -> int:
    """Parameters of a rank in routed experts."""
    return -(-rank_counts(case, placement, rank, 1).experts // expert_ways)


def in_flight(pp: int, vpp: int, microbatches: int, rank: int) -> float:
    """Micro-batches whose activations a rank holds at once; one counts whole when all its chunks hold it."""
    if vpp == 1:
        return float(min(microbatches, pp - rank))
    chunks = 2 * (pp - rank - 1) + (vpp - 1) * pp + 1
    return min(microbatches * vpp, chunks) / vpp


def placed(case: Case, pp: int, vpp: int) -> Split | None:
    """The even placement, cached in the case; None where layers do not fill the stages."""
    if (pp, vpp) not in case.placements:
        filled = fills_stages(case.model, pp, vpp)
        case.placements[pp, vpp] = split(case.model, pp, vpp) if filled else None
    return case.placements[pp, vpp]


#: What one pipeline rank of a placement holds, with the variables of its layout by name.
RankValue = Callable[[Case, Split, int, Mapping[str, int]], float]
#: Blocks of a rank by kind, (dense, MoE), with the variables of its layout by name.
RankBlocks = Callable[[Split, int, Mapping[str, int]], tuple[int, int]]


def _by_role(unit: str, of: tuple[str, ...], name: str, value: RankValue) -> dict[str, Term]:
    """One term per role: the largest `value` of any rank of that role, in the even placement. 0 where layers
    do not fill the stages, which no allowed layout has."""

    def build(role: str) -> Term:
        def one(case: Case, at: Mapping[str, int]) -> float:
            placement = placed(case, at["pp"], at["vpp"])
            if placement is None:
                return 0.0
            return float(max(value(case, placement, rank, at) for rank in placement.ranks(role)))

        def function(case: Case, *columns: Column) -> Column:
            like = np.broadcast_arrays(*columns)
            rows = zip(*(column.ravel().tolist() for column in like), strict=True)
            known = case.rank_values.setdefault(f"{role}_{name}", {})
            found = []
            for row in rows:
                if row not in known:
                    known[row] = one(case, dict(zip(of, row, strict=True)))
                found.append(known[row])
            return np.array(found, dtype=float).reshape(like[0].shape)

        function.__name__ = f"{role}_{name}"
        return term(unit, of)(function)

    return {role: build(role) for role in ROLES}


def _by_kind(of: tuple[str, ...], name: str, blocks: RankBlocks) -> dict[str, dict[str, Term]]:
    """Terms by kind of block, then by role: how many blocks of the kind a rank has."""

    def counted(index: int) -> RankValue:
        return lambda case, placement, rank, at: blocks(placement, rank, at)[index]

    return {
        kind: _by_role("1", of, f"{name}_{kind}", counted(index)) for kind, index in KINDS.items()
    }


def _held(placement: Split, rank: int, at: Mapping[str, int]) -> tuple[int, int]:
    """Blocks whose parameters and activations a rank holds."""
    return placement.held(rank)


def _paced(placement: Split, rank: int, at: Mapping[str, int]) -> tuple[int, int]:
    """Blocks that determine a rank's time."""
    return summed(placement.paced(rank))


def _held_recomputed(placement: Split, rank: int, at: Mapping[str, int]) -> tuple[int, int]:
    """Blocks of a rank whose activations full recomputation drops."""
    return recomputed(placement.blocks[rank], at["recompute"], at["recompute_layers"])


def _paced_recomputed(placement: Split, rank: int, at: Mapping[str, int]) -> tuple[int, int]:
    """Blocks whose forward pass a rank repeats under full recomputation."""
    return recomputed(placement.paced(rank), at["recompute"], at["recompute_layers"])


def _common_ki(case: Case, placement: Split, rank: int, at: Mapping[str, int]) -> float:
    return common_parameters(case, placement, rank, at["tp"]) / KIB


def _experts_ki(case: Case, placement: Split, rank: int, at: Mapping[str, int]) -> float:
    return expert_parameters(case, placement, rank, at["expert_ways"]) / KIB


def _flight(case: Case, placement: Split, rank: int, at: Mapping[str, int]) -> float:
    pipeline = at["pp"], at["vpp"], at["microbatches"]
    if case.traits.pipeline.schedule is not None:
        return FLIGHT * schedule.flight(case, *pipeline, rank)
    return FLIGHT * in_flight(*pipeline, rank)


#: The place of each kind of block in a pair (dense, MoE).
KINDS = {"dense": 0, "moe": 1}
STAGES = ("pp", "vpp")
RECOMPUTING = (*STAGES, "recompute", "recompute_layers")

COMMON = _by_role("Ki", ("tp", *STAGES), "common_parameters", _common_ki)
EXPERTS = _by_role("Ki", ("expert_ways", *STAGES), "expert_parameters", _experts_ki)
IN_FLIGHT = _by_role("1/64", (*STAGES, "microbatches"), "in_flight", _flight)
HELD = _by_kind(STAGES, "held", _held)
PACED = _by_kind(STAGES, "paced", _paced)
HELD_RECOMPUTED = _by_kind(RECOMPUTING, "held_recomputed", _held_recomputed)
PACED_RECOMPUTED = _by_kind(RECOMPUTING, "paced_recomputed", _paced_recomputed)


@term("1", of=("pp",))
def leading_ranks(case: Case, pp: Column) -> Column:
    """1 where the first rank is not the last."""
    return np.minimum(pp - 1, 1)


@term("1", of=("pp",))
def inner_ranks(case: Case, pp: Column) -> Column:
    """Ranks between the first and the last."""
    return np.maximum(pp - 2, 0)


def all_ranks(x: Algebra[Value], values: Mapping[str, Value]) -> Value:
    """Sum over all ranks of a pipeline of a value by role."""
    first = x.times(x.term(leading_ranks), values["first"])
    return first + x.times(x.term(inner_ranks), values["middle"]) + values["last"]


@dataclass(frozen=True)
class Load(Generic[Value]):
    """The load of one pipeline rank as values of an algebra.

    `held` and `recomputed` blocks, by kind, determine its memory; `paced` and `repeated` ones its time.
    `common` and `experts` count Ki-parameters, outside and in routed experts; `flight` micro-batches in
    flight in 1/64. `first` has the embedding, `last` the head.
    """

    held: dict[str, Value]
    recomputed: dict[str, Value]
    paced: dict[str, Value]
    repeated: dict[str, Value]
    common: Value
    experts: Value
    flight: Value
    first: bool
    last: bool


def role_load(x: Algebra[Value], role: str) -> Load[Value]:
    """The load of a role, from the even placement."""

    def by_kind(terms: dict[str, dict[str, Term]]) -> dict[str, Value]:
        return {kind: x.term(terms[kind][role]) for kind in kinds(x.case)}

    return Load(
        held=by_kind(HELD),
        recomputed=by_kind(HELD_RECOMPUTED),
        paced=by_kind(PACED),
        repeated=by_kind(PACED_RECOMPUTED),
        common=x.term(COMMON[role]),
        experts=x.term(EXPERTS[role]) if x.case.model.moe else x.number(0),
        flight=x.term(IN_FLIGHT[role]),
        first=role == "first",
        last=role == "last",
    )


def placed_load(case: Case, at: Mapping[str, int], placement: Split, rank: int) -> Load[int]:
    """The load of one rank of a given placement, for one layout: its variables by name."""

    def by_kind(blocks: tuple[int, int]) -> dict[str, int]:
        return {kind: blocks[KINDS[kind]] for kind in kinds(case)}

    return Load(
        held=by_kind(_held(placement, rank, at)),
        recomputed=by_kind(_held_recomputed(placement, rank, at)),
        paced=by_kind(_paced(placement, rank, at)),
        repeated=by_kind(_paced_recomputed(placement, rank, at)),
        common=math.ceil(_common_ki(case, placement, rank, at)),
        experts=math.ceil(_experts_ki(case, placement, rank, at)) if case.model.moe else 0,
        flight=math.ceil(_flight(case, placement, rank, at)),
        first=rank == 0,
        last=rank == len(placement.blocks) - 1,
    )


def kinds(case: Case) -> tuple[str, ...]:
    """The kinds of blocks in the model."""
    if not case.model.moe:
        return ("dense",)
    return ("dense", "moe") if case.model.dense_layers else ("moe",)
