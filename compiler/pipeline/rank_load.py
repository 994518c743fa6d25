"""A placement -> the load of its ranks: layers, parameters and micro-batches in flight, as terms by role.

Layers and parameters come from the even placement of `even_split.py`; micro-batches in flight from the
schedules (Megatron-core pipeline_parallel/schedules.py: warm-up of 1F1B and of the interleaved schedule).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from ...dsl.arrays import np
from ..algebra import KIB, Algebra, Column, Integers, Mask, Term, Value, term
from ..case import Case
from ..model import parameters
from ..model.parameters import Counts
from .even_chunks import ROLES, Groups
from .even_split import Split, fills_stages, recomputed, summed
from .schedule import HALVED, in_flight

#: Denominator of micro-batches in flight, kept as an integer.
FLIGHT = 64


def rank_counts(case: Case, placement: Split, rank: int, tp: int) -> Counts:
    """Parameters of one pipeline rank by how they are divided, with the vocabulary padded for tp."""
    return _counts(
        case, placement.held(rank), _ends(rank, len(placement.blocks), placement.v_shaped), tp
    )


def _ends(rank: Any, pp: Any, v_shaped: bool) -> tuple[Any, Any, Any]:
    """Whether ranks have the embedding, the head, and a head that is not in the embedding's chunk."""
    first = rank == 0
    last = first if v_shaped else rank == pp - 1
    return first, last, last if v_shaped else last > first


def _counts(case: Case, held: tuple[Any, Any], ends: tuple[Any, Any, Any], tp: Any) -> Counts:
    """Parameters of ranks with `held` blocks, dense and MoE, and with the first and the last end of the model
    where `ends` say so, as `_ends` has them: of one rank, or columns of them."""
    model, (dense, moe), (first, last, apart) = case.model, held, ends
    counts: Any = case.dense_block * dense
    if model.moe:
        counts = counts + case.moe_block * moe
    vocab: Any = case.vocab(tp)
    embedding = parameters.embedding(model, vocab, case.seq_len)
    whole = Counts(replicated=embedding.total)
    counts = counts + (whole if case.traits.tensor.whole_embedding else embedding) * (1 * first)
    counts = counts + (parameters.head(model, vocab) + case.mtp_blocks) * (1 * last)
    # Away from the first stage the tied output and the inputs of multi-token prediction have a table each
    # (Megatron-core gpt_model.py: output_layer, and embedding where mtp_process).
    tables = (model.tied + (model.mtp_layers > 0)) * apart
    found: Counts = counts + Counts(sharded=vocab * model.hidden) * tables
    return found


def common_parameters(case: Case, placement: Split, rank: int, tp: int) -> int:
    """Parameters of a rank outside routed experts."""
    return int(_common(rank_counts(case, placement, rank, tp), tp))


def expert_parameters(case: Case, placement: Split, rank: int, expert_ways: int) -> int:
    """Parameters of a rank in routed experts."""
    return int(_routed(rank_counts(case, placement, rank, 1), expert_ways))


def _common(counts: Counts, tp: Any) -> Any:
    return parameters.per_rank(Counts(counts.sharded, counts.replicated), tp, 1)


def _routed(counts: Counts, expert_ways: Any) -> Any:
    return -(-counts.experts // expert_ways)


def begun_beside(case: Case, pp: Any) -> Any:
    """Micro-batches that a rank holds beyond those in flight: a layer, whose forward pass has begun where it
    runs beside a layer's backward pass (megatron-core, model_chunk_schedule_plan.py: run)."""
    return pp / case.model.layers if case.traits.overlap.expert_exchange else 0.0 * pp


@dataclass(frozen=True)
class Share:
    """What the even placement gives ranks of a role, by layout and candidate for the fullest of them: the
    chunks that they have and those that determine their time, and which `rank` of `pp` they are."""

    held: Callable[[], Groups]
    paced: Callable[[], Groups]
    rank: Integers
    pp: Integers
    v_shaped: bool

    @property
    def ends(self) -> tuple[Mask, Mask, Mask]:
        """What they have of the model's ends, as `_ends` has it."""
        return _ends(self.rank, self.pp, self.v_shaped)


#: Columns of a layout's variables by name, with an axis for candidates.
At = Mapping[str, Integers]
#: What pipeline ranks hold in the even placement, by layout and candidate.
RankValue = Callable[[Case, Share, At], Column]
#: Layouts whose ranks are worked out at once.
AT_ONCE = 2**13


def _by_role(unit: str, of: tuple[str, ...], name: str, value: RankValue) -> dict[str, Term]:
    """One term per role: the largest `value` of any rank of that role, in the even placement. 0 where layers
    do not fill the stages, which no allowed layout has."""

    def build(role: str) -> Term:
        def function(case: Case, *columns: Column) -> Column:
            like = np.broadcast_arrays(*columns)
            rows = {name: column.ravel() for name, column in zip(of, like, strict=True)}
            found = np.zeros(like[0].size)
            filled = np.flatnonzero(fills_stages(case.model, rows["pp"], rows["vpp"]))
            for start in range(0, len(filled), AT_ONCE):
                part = filled[start : start + AT_ONCE]
                at = {name: column[part] for name, column in rows.items()}
                beside = {name: column[:, np.newaxis] for name, column in at.items()}
                found[part] = np.max(value(case, _share(case, role, at), beside), axis=-1)
            return found.reshape(like[0].shape)

        function.__name__ = f"{role}_{name}"
        return term(unit, of)(function)

    return {role: build(role) for role in ROLES}


def _share(case: Case, role: str, at: At) -> Share:
    """What ranks of a role have. Of those between the ends the first has most micro-batches in flight, or
    where backward passes are divided the last."""
    pp = at["pp"]
    rank = {"first": 0 * pp, "middle": np.where(pp > 2, 1, pp - 1), "last": pp - 1}[role]
    return Share(
        lambda: case.placements.held(role, pp, at["vpp"]),
        lambda: case.placements.paced(role, pp, at["vpp"]),
        rank[:, np.newaxis],
        pp[:, np.newaxis],
        case.v_shaped,
    )


def _by_kind(
    of: tuple[str, ...], name: str, blocks: Callable[[Share, At], tuple[Integers, Integers]]
) -> dict[str, dict[str, Term]]:
    """Terms by kind of block, then by role: how many blocks of the kind a rank has."""

    def counted(index: int) -> RankValue:
        return lambda case, share, at: blocks(share, at)[index]

    return {
        kind: _by_role("1", of, f"{name}_{kind}", counted(index)) for kind, index in KINDS.items()
    }


def _held(share: Share, at: At) -> tuple[Integers, Integers]:
    """Blocks whose parameters and activations ranks hold."""
    return share.held().blocks


def _paced(share: Share, at: At) -> tuple[Integers, Integers]:
    """Blocks that determine the ranks' time."""
    return share.paced().blocks


def _held_recomputed(share: Share, at: At) -> tuple[Integers, Integers]:
    """Blocks of ranks whose activations full recomputation drops."""
    return _recomputed(share.held(), at)


def _paced_recomputed(share: Share, at: At) -> tuple[Integers, Integers]:
    """Blocks whose forward pass ranks repeat under full recomputation."""
    return _recomputed(share.paced(), at)


def _recomputed(chunks: Groups, at: At) -> tuple[Integers, Integers]:
    dense, moe = chunks.recomputed(at["recompute_layers"][..., np.newaxis])
    full = at["recompute"] == 2
    return dense * full, moe * full


def _common_ki(case: Case, share: Share, at: At) -> Column:
    return (
        np.asarray(_common(_counts(case, share.held().blocks, share.ends, at["tp"]), at["tp"]))
        / KIB
    )


def _experts_ki(case: Case, share: Share, at: At) -> Column:
    return (
        np.asarray(_routed(_counts(case, share.held().blocks, share.ends, 1), at["expert_ways"]))
        / KIB
    )


def _flight(case: Case, share: Share, at: At) -> Column:
    middle = (share.rank > 0) & (share.rank < share.pp - 1)
    later = np.isin(at["order"], HALVED) & middle
    rank = np.where(later, share.pp - 2, share.rank)
    held: Column = in_flight(*_passing(at), rank) + begun_beside(case, at["pp"])
    return FLIGHT * held


def _passing(at: At | Mapping[str, int]) -> tuple[Any, Any, Any, Any]:
    """The values of PASSING."""
    return at["pp"], at["vpp"], at["microbatches"], at["order"]


#: The place of each kind of block in a pair (dense, MoE).
KINDS = {"dense": 0, "moe": 1}
STAGES = ("pp", "vpp")
RECOMPUTING = (*STAGES, "recompute", "recompute_layers")
PASSING = (*STAGES, "microbatches", "order")

COMMON = _by_role("Ki", ("tp", *STAGES), "common_parameters", _common_ki)
EXPERTS = _by_role("Ki", ("expert_ways", *STAGES), "expert_parameters", _experts_ki)
IN_FLIGHT = _by_role("1/64", PASSING, "in_flight", _flight)
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
        last=role == ("first" if x.case.v_shaped else "last"),
    )


def placed_load(case: Case, at: Mapping[str, int], placement: Split, rank: int) -> Load[int]:
    """The load of one rank of a given placement, for one layout: its variables by name."""

    def by_kind(blocks: tuple[int, int]) -> dict[str, int]:
        return {kind: blocks[KINDS[kind]] for kind in kinds(case)}

    counts = rank_counts(case, placement, rank, at["tp"])
    first, last, _ = _ends(rank, len(placement.blocks), placement.v_shaped)
    paced, recomputing = placement.paced(rank), (at["recompute"], at["recompute_layers"])
    flight = in_flight(*_passing(at), rank) + begun_beside(case, at["pp"])
    return Load(
        held=by_kind(placement.held(rank)),
        recomputed=by_kind(recomputed(placement.blocks[rank], *recomputing)),
        paced=by_kind(summed(paced)),
        repeated=by_kind(recomputed(paced, *recomputing)),
        common=math.ceil(_common(counts, at["tp"]) / KIB),
        experts=math.ceil(_routed(counts, at["expert_ways"]) / KIB) if case.model.moe else 0,
        flight=math.ceil(FLIGHT * flight),
        first=first,
        last=last,
    )


def kinds(case: Case) -> tuple[str, ...]:
    """The kinds of blocks in the model."""
    if not case.model.moe:
        return ("dense",)
    return ("dense", "moe") if case.model.dense_layers else ("moe",)
