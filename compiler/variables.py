"""The variables of a layout in one table: the decisions of the search, and what derives from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..dsl.arrays import np
from ..dsl.expression import VALUES, VARIABLES
from ..dsl.job import Job
from .algebra import Column, Integers

#: Every value of `recompute`.
RECOMPUTATIONS = range(len(VALUES["recompute"]))
#: `recompute = fine`.
FINE = VALUES["recompute"]["fine"]
#: `recompute = moe`: as fine, and the whole MoE half of each layer.
WHOLE_MOE = VALUES["recompute"]["moe"]


def discards(recompute: Column) -> Column:
    """Where outputs of attention and of dense halves are discarded: fine and whole-MoE recomputation."""
    return np.equal(recompute, FINE) | np.equal(recompute, WHOLE_MOE)


#: Upper bound on every count in a user's layout, above any cluster's.
MOST = 10**7


@dataclass(frozen=True)
class Decision:
    """A variable that the search decides.

    `neutral` is its value on targets that do not decide it; None where every target does. `branch` is its
    rank in the solver's branching order, lowest first; None where no branching strategy names it. Where a
    user's layout omits them, `free` variables take the best value and the others their neutral one, if the
    job's domain on the target has it. `most` is the largest value that a user's layout may give it.
    """

    name: str
    doc: str
    neutral: int | None = 1
    branch: int | None = None
    free: bool = False
    most: int = MOST


@dataclass(frozen=True)
class Derived:
    """A variable that derives from others: `value(job, **columns)` takes the variables `of` by name,
    as equally long integer arrays.

    A user's layout may give `named` ones, and must then agree with the variables `of`. `neutral` is the value
    on targets that declare no domain for it; None where no target declares one.
    """

    name: str
    doc: str
    of: tuple[str, ...]
    value: Callable[..., Column]
    named: bool = False
    neutral: int | None = None


def _last(name: str) -> int:
    """The largest integer among the values of a variable whose values are words."""
    return max(VALUES[name].values())


#: In the order in which the space joins them: variables that many rules relate come first. Ties between
#: layouts are broken in favour of smaller values, compared in this order.
DECISIONS = (
    Decision("nodes", "nodes in use", neutral=None, branch=0, free=True),
    Decision("tp", "tensor parallel degree", branch=1),
    Decision("pp", "pipeline stages", branch=2),
    Decision("cp", "context parallel degree (DeepSpeed: Ulysses)", branch=3),
    Decision("zero", "ZeRO stage, 0 to 3", neutral=0, branch=7, free=True, most=3),
    Decision("dp_shard", "data-parallel ranks that share a ZeRO shard group", branch=8, free=True),
    Decision("micro_batch", "sequences per micro-batch and replica", branch=6, free=True),
    Decision("vpp", "virtual stages (interleaved chunks) per pipeline rank", branch=9, free=True),
    Decision("ep", "expert parallel degree", branch=4),
    Decision("etp", "tensor parallel degree inside an expert", branch=5),
    Decision("recompute", "what the backward pass computes again", neutral=0, branch=10,
             free=True, most=_last("recompute")),
    Decision("recompute_layers", "fully recomputed layers of each virtual stage, 0 for all", neutral=0,
             free=True),
    Decision("offload", "states kept in host memory", neutral=0,
             most=_last("offload")),
    Decision("hpz", "ranks of DeepSpeed's secondary weight partition"),
    Decision("order", "order of a pipeline's passes; 1f1b is interleaved where vpp is above 1", neutral=0,
             most=_last("order")),
)  # fmt: skip

DERIVATIONS = (
    Derived("gpus", "GPUs in use", ("nodes",),
            lambda job, nodes: nodes * job.cluster.gpus_per_node, named=True),
    Derived("dp", "data parallel degree: dp_replicate * dp_shard", ("gpus", "tp", "pp", "cp"),
            lambda job, gpus, tp, pp, cp: gpus // (tp * pp * cp), named=True),
    Derived("dp_replicate", "replicas of the shard group", ("dp", "dp_shard"),
            lambda job, dp, dp_shard: dp // dp_shard, named=True, neutral=1),
    Derived("microbatches", "micro-batches per step and pipeline", ("micro_batch", "dp"),
            lambda job, micro_batch, dp: job.train.global_batch // np.maximum(micro_batch * dp, 1),
            named=True),
    Derived("accumulates", "1 where a step has more than one micro-batch", ("microbatches",),
            lambda job, microbatches: (microbatches > 1).astype(np.int64)),
    Derived("tokens", "tokens of a micro-batch on a rank", ("micro_batch", "cp"),
            lambda job, micro_batch, cp: micro_batch * job.train.seq_len // cp),
    Derived("shard", "ranks that ZeRO divides over", ("dp_shard", "cp"),
            lambda job, dp_shard, cp: dp_shard * cp),
    Derived("schedule", "pipeline schedule: the order, with 1F1B told apart by vpp", ("vpp", "order"),
            lambda job, vpp, order: np.where(order > 0, order + 1, vpp > 1)),
    Derived("expert_ways", "parts that routed experts are divided into", ("ep", "etp"),
            lambda job, ep, etp: ep * etp),
    Derived("expert_group", "ranks that hold the same routed experts", ("gpus", "pp", "expert_ways"),
            lambda job, gpus, pp, expert_ways: np.maximum(gpus // (pp * expert_ways), 1)),
    Derived("expert_shard", "ranks that ZeRO divides routed experts over",
            ("zero", "tp", "shard", "expert_ways"),
            lambda job, zero, tp, shard, expert_ways: np.where(
                zero >= 1, np.maximum(tp * shard // expert_ways, 1), 1
            )),
)  # fmt: skip

#: Names of the decisions, in the order of the table.
ORDER = tuple(decision.name for decision in DECISIONS)
#: The placement of layers on a pipeline by its number (`pipeline/placements.py`), 0 for the even one.
#: The search decides it after all others, and a layout is priced with the best one: it has no name in a job.
PLACE = "place"
#: What the rows of a space hold.
SEARCHED = (*ORDER, PLACE)
#: Derived variables by name, each after all that it derives from.
DERIVED = {derived.name: derived for derived in DERIVATIONS}
_NEUTRAL = {each.name: each.neutral for each in (*DECISIONS, *DERIVATIONS)}
#: The value of each variable that a target may leave undecided, in the language's order.
NEUTRAL: dict[str, int] = {
    name: value for name in VARIABLES if (value := _NEUTRAL.get(name)) is not None
}
#: Decisions in the solver's branching order.
BRANCHING = tuple(
    name
    for _, name in sorted((each.branch, each.name) for each in DECISIONS if each.branch is not None)
)
#: Decisions that take the best value where a user's layout omits them, in the language's order.
FREE = tuple(
    each.name
    for each in sorted(DECISIONS, key=lambda each: VARIABLES.index(each.name))
    if each.free
)
#: What a user's layout may name, with the largest value of each.
LARGEST = {each.name: each.most for each in DECISIONS} | {
    each.name: MOST for each in DERIVATIONS if each.named
}


def with_derived(job: Job, columns: Mapping[str, Integers]) -> dict[str, Integers]:
    """Columns of all decisions -> the same with every derived variable, as int64 arrays of equal shape; with
    the even placement where none is given."""
    found = {PLACE: np.zeros_like(columns["nodes"]), **columns}
    for name, derived in DERIVED.items():
        value = derived.value(job, **{source: found[source] for source in derived.of})
        found[name] = np.asarray(value, dtype=np.int64)
    return found
