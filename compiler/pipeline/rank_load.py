"""A placement -> the load of its ranks: layers, parameters and micro-batches in flight, as terms by role.

Layers and parameters come from a placement of `placements.py`; micro-batches in flight from the
schedules (Megatron-core pipeline_parallel/schedules.py: warm-up of 1F1B and of the interleaved schedule).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic

from ...dsl.arrays import np
from ..algebra import KIB, Algebra, Column, Integers, Mask, Term, Value, added, term
from ..case import Case
from ..model import parameters
from ..model.parameters import Counts
from ..variables import PLACE
from .even_split import Split, recomputed
from .rank_table import ROLES, Held
from .schedule import in_flight

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
    """The share of ranks of a role, by row: `held` chunks, and which `rank` of `pp` they are."""

    held: Held
    pp: Integers
    v_shaped: bool

    @property
    def ends(self) -> tuple[Mask, Mask, Mask]:
        """Masks of the model's ends that these ranks have, as `_ends` has it."""
        return _ends(self.held.low, self.pp, self.v_shaped)


#: Columns of a layout's variables by name.
At = Mapping[str, Integers]
#: What pipeline ranks hold in a placement, by layout.
RankValue = Callable[[Case, Share, At], Column]


def _by_role(unit: str, of: tuple[str, ...], name: str, value: RankValue) -> dict[str, Term]:
    """One term per role: `value` of the ranks of that role."""

    def build(role: str) -> Term:
        def function(case: Case, *columns: Column) -> Column:
            like = np.broadcast_arrays(*columns)
            rows = {name: column.ravel() for name, column in zip(of, like, strict=True)}
            held = case.rank_table.held(role, rows["pp"], rows["vpp"], rows[PLACE])
            found = np.asarray(value(case, Share(held, rows["pp"], case.v_shaped), rows))
            return found.reshape(like[0].shape)

        function.__name__ = f"{role}_{name}"
        return term(unit, of)(function)

    return {role: build(role) for role in ROLES}


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
    """Blocks of ranks."""
    return share.held.blocks


def _recomputed(share: Share, at: At) -> tuple[Integers, Integers]:
    """Blocks of ranks that full recomputation covers."""
    dense, moe = share.held.recomputed(at["recompute_layers"])
    full = at["recompute"] == 2
    return dense * full, moe * full


def _common_ki(case: Case, share: Share, at: At) -> Column:
    counts = _counts(case, share.held.blocks, share.ends, at["tp"])
    return np.asarray(_common(counts, at["tp"])) / KIB


def _experts_ki(case: Case, share: Share, at: At) -> Column:
    counts = _counts(case, share.held.blocks, share.ends, 1)
    return np.asarray(_routed(counts, at["expert_ways"])) / KIB


def _flight(case: Case, share: Share, at: At) -> Column:
    low, high = (in_flight(*_passing(at), rank) for rank in (share.held.low, share.held.high))
    held: Column = np.maximum(low, high) + begun_beside(case, at["pp"])
    return FLIGHT * held


def _passing(at: At | Mapping[str, int]) -> tuple[Any, Any, Any, Any]:
    """The values of PASSING."""
    return at["pp"], at["vpp"], at["microbatches"], at["order"]


#: The place of each kind of block in a pair (dense, MoE).
KINDS = {"dense": 0, "moe": 1}
STAGES = ("pp", "vpp", PLACE)
RECOMPUTING = (*STAGES, "recompute", "recompute_layers")
PASSING = (*STAGES, "microbatches", "order")

COMMON = _by_role("Ki", ("tp", *STAGES), "common_parameters", _common_ki)
EXPERTS = _by_role("Ki", ("expert_ways", *STAGES), "expert_parameters", _experts_ki)
IN_FLIGHT = _by_role("1/64", PASSING, "in_flight", _flight)
HELD = _by_kind(STAGES, "held", _held)
RECOMPUTED = _by_kind(RECOMPUTING, "recomputed", _recomputed)
MANY = _by_role("1", STAGES, "ranks", lambda case, share, at: share.held.many)


def _in_all(kind: str) -> Term:
    def function(case: Case, *columns: Column) -> Column:
        found = (
            term(case, dict(zip(RECOMPUTING, columns, strict=True)))
            * MANY[role](case, dict(zip(STAGES, columns, strict=False)))
            for role, term in RECOMPUTED[kind].items()
            if role in case.roles
        )
        return np.asarray(sum(found))

    function.__name__ = f"recomputed_{kind}_in_all"
    return term("1", of=RECOMPUTING)(function)


#: Fully recomputed blocks of the whole model by kind.
RECOMPUTED_IN_ALL = {kind: _in_all(kind) for kind in KINDS}


@term("1", of=("pp",))
def one_stage(case: Case, pp: Column) -> Column:
    """1 where the only stage holds embedding and head, else 0."""
    return np.equal(pp, 1)


@term("1", of=("recompute", "recompute_layers"))
def whole_chunks(case: Case, recompute: Column, recompute_layers: Column) -> Column:
    """1 where full recomputation covers all layers of each chunk, else 0."""
    return np.equal(recompute, 2) & np.equal(recompute_layers, 0)


@cache
def common_of(blocks: tuple[int, int], ends: bool) -> Term:
    """Ki-parameters outside routed experts of dense and MoE blocks on one rank, and with `ends` of embedding
    and head."""

    def function(case: Case, tp: Column) -> Column:
        counts = _counts(case, blocks, (ends, ends, False), tp)
        return np.asarray(_common(counts, tp)) // KIB

    function.__name__ = f"common_{blocks}_{ends}"
    return term("Ki", of=("tp",))(function)


@cache
def experts_of(blocks: tuple[int, int], ends: bool) -> Term:
    """As `common_of`, in routed experts."""

    def function(case: Case, expert_ways: Column) -> Column:
        counts = _counts(case, blocks, (ends, ends, False), 1)
        return np.asarray(_routed(counts, expert_ways)) // KIB

    function.__name__ = f"experts_{blocks}_{ends}"
    return term("Ki", of=("expert_ways",))(function)


def all_ranks(x: Algebra[Value], values: Mapping[str, Value]) -> Value:
    """Sum over all ranks of a pipeline of a value by role."""
    return added(x, (x.times(x.term(MANY[role]), value) for role, value in values.items()))


@dataclass(frozen=True)
class Load(Generic[Value]):
    """The load of one pipeline rank as values of an algebra.

    It has `held` blocks by kind, of which full recomputation covers `recomputed` ones. `common` and `experts`
    count Ki-parameters, outside and in routed experts; `flight` micro-batches in flight in 1/64. `first` has
    the embedding, `last` the head.
    """

    held: dict[str, Value]
    recomputed: dict[str, Value]
    common: Value
    experts: Value
    flight: Value
    first: bool
    last: bool


def role_load(x: Algebra[Value], role: str) -> Load[Value]:
    """The load of a role in the layout's placement."""

    def by_kind(terms: dict[str, dict[str, Term]]) -> dict[str, Value]:
        return {kind: x.term(terms[kind][role]) for kind in kinds(x.case)}

    return Load(
        held=by_kind(HELD),
        recomputed=by_kind(RECOMPUTED),
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
    recomputing = at["recompute"], at["recompute_layers"]
    flight = in_flight(*_passing(at), rank) + begun_beside(case, at["pp"])
    return Load(
        held=by_kind(placement.held(rank)),
        recomputed=by_kind(recomputed(placement.blocks[rank], *recomputing)),
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
