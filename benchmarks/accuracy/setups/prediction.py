"""A setup -> predicted seconds per step and bytes, after what its source leaves open is filled by
parc's own choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np

from benchmarks.accuracy.rows.csv_rows import Unusable
from benchmarks.accuracy.rows.memory_figures import FIRST_STAGE
from benchmarks.accuracy.setups import memory_traits
from benchmarks.accuracy.setups.layer_placement import placement_of
from benchmarks.accuracy.setups.recipes import offloaded_share
from benchmarks.accuracy.setups.setup import Asked, Setup, case_of
from parc.compiler.case import Case
from parc.compiler.memory.peak import context_bytes, is_known_alone
from parc.compiler.pipeline.even_split import fills_stages
from parc.compiler.plan import Estimate
from parc.compiler.pricing.estimate import estimate_layout
from parc.compiler.pricing.quantities import price
from parc.compiler.risk import SPREAD
from parc.compiler.search.sweep import fits
from parc.compiler.target import holds
from parc.compiler.traits import StateBytes
from parc.compiler.variables import DERIVED, ORDER
from parc.dsl.job import Job

#: What torch's allocator reserves beyond what it has allocated at most, as a share of activations and all
#: else that comes and goes: 0.24 to 0.41 in four layouts of SimuMax's B200 release v1.2 (llama3_70b), 0.16
#: with ZeRO 3 and nothing beside the update's bytes with a pipeline in the logs that print both in
#: bigscience-workshop/bigscience, experiments.
CACHED = 0.2
#: Parts of a step that belong to no single layer.
OUTSIDE_LAYERS = ("optimizer", "dp", "other")


@dataclass(frozen=True)
class Prediction:
    """`layout` is complete; `bytes` that the fullest rank needs, of them `reserve` for context and
    libraries, `fragments` in the allocator's gaps; `cached` with what the allocator keeps beyond need.
    """

    seconds: float
    bytes: int
    cached: int
    reserve: int
    fragments: int
    capacity: int
    layout: Mapping[str, int]
    time: Mapping[str, float]

    @property
    def fits(self) -> bool:
        return self.bytes <= self.capacity


def predict(setup: Setup) -> Prediction:
    """Raises Unusable when no layout of the compiler's expresses the row."""
    layout = dict(setup.layout)
    if setup.open:
        stated = tuple(sorted(setup.layout.items()))
        layout.update(completion(setup.asked, stated, setup.open))
    if setup.one_layer:
        return _of_one_layer(setup, layout)
    found = _prediction(setup, layout, _estimate(setup, layout))
    if not setup.stack.saves_ends:
        return found
    # Its time is that of fewer layers repeated, its memory that of all, but for the little that is kept.
    held = _prediction(setup, layout, _estimate(setup, {**layout, "recompute_layers": 0}))
    return replace(held, seconds=found.seconds, time=found.time)


def _estimate(setup: Setup, layout: Mapping[str, int]) -> Estimate:
    ordered = {name: layout[name] for name in ORDER}
    try:
        return estimate_layout(setup.case, ordered, placement_of(setup, layout["vpp"]))
    except ValueError as error:
        raise Unusable(f"impossible layout: {error}") from None


def _prediction(setup: Setup, layout: Mapping[str, int], estimate: Estimate) -> Prediction:
    share = offloaded_share(setup.row)
    needed = estimate.memory_bytes - int(share * estimate.fullest.memory["activations"])
    return Prediction(
        seconds=estimate.step_seconds * setup.share,
        bytes=needed,
        cached=_seen(setup, layout) if setup.row.mem_gb else needed,
        reserve=context_bytes(setup.case),
        fragments=estimate.fullest.memory["fragments"],
        capacity=estimate.capacity_bytes,
        layout=layout,
        time=estimate.time,
    )


def _seen(setup: Setup, layout: Mapping[str, int]) -> int:
    """Bytes on the rank that the source looked at, caches included."""
    found = _cached(setup, layout)
    stages = found.stages[:1] if setup.row.mem_counts == FIRST_STAGE else found.stages
    if is_known_alone(setup.case):
        return max(stage.memory_bytes for stage in stages)
    return max(_with_cache(stage.memory) + _bucket(setup, layout, stage.memory) for stage in stages)


def _with_cache(memory: Mapping[str, int]) -> int:
    """Bytes of a rank when the allocator keeps what comes and goes in blocks that it need not use again. One
    GPU has one stream of kernels, and no more gaps than are predicted.
    """
    moving = sum(memory[name] for name in ("activations", "logits", "workspace"))
    kept = sum(memory.values()) - memory["fragments"]
    return kept + max(memory["fragments"], int(CACHED * moving))


def _bucket(setup: Setup, layout: Mapping[str, int], memory: Mapping[str, int]) -> int:
    """Bytes of the flat copy in which DeepSpeed's pipeline reduces and gathers, kept like the rest."""
    width = memory_traits.bucket_bytes(setup.row, layout)
    return min(width, memory["gradients"])


def _cached(setup: Setup, layout: Mapping[str, int]) -> Estimate:
    """Estimate for torch's caching allocator: the update's few large buffers find no place among the small
    blocks of activations, which it gives back only when it runs out."""

    def state(job: Job, zero: int) -> StateBytes:
        own = setup.case.state(zero)
        whole = own.gradients + own.step_whole
        return replace(
            own, optimizer=own.optimizer + own.step, gradients=whole, step=0.0, step_whole=0.0
        )

    target = setup.case.target
    target = replace(target, traits=target.traits.replaced(state=state))
    return _estimate(replace(setup, case=Case(setup.case.job, target)), layout)


def _of_one_layer(setup: Setup, layout: Mapping[str, int]) -> Prediction:
    """Prediction for one layer: the third of a model less the first two, without work that happens once
    per step, such as the optimizer's."""
    two, three = (_estimate(with_layers(setup, layers), layout) for layers in (2, 3))
    time = {
        part: seconds - two.time.get(part, 0.0)
        for part, seconds in three.time.items()
        if part not in OUTSIDE_LAYERS
    }
    return replace(_prediction(setup, layout, two), seconds=sum(time.values()), time=time)


def with_layers(setup: Setup, layers: int) -> Setup:
    model = setup.case.model.model_copy(update={"layers": layers})
    job = setup.case.job.model_copy(update={"model": model})
    return replace(setup, case=Case(job, setup.case.target))


@cache
def completion(
    asked: Asked,
    stated: tuple[tuple[str, int], ...],
    unset: tuple[str, ...],
) -> dict[str, int]:
    """Values for the open variables: of the fastest layout that fits, or of the smallest when none
    does."""
    case = case_of(asked)
    columns = _candidates(case, dict(stated), unset)
    prices = price(case, columns)
    fit = fits(case, prices)
    order = (
        np.where(fit, prices.step_ns, np.iinfo(np.int64).max) if fit.any() else prices.memory_kib
    )
    row = int(np.argmin(order))
    return {name: int(columns[name][row]) for name in (*unset, "dp_shard")}


def price_range(setup: Setup, layout: Mapping[str, int]) -> tuple[float, float] | None:
    """Lowest and highest seconds over the plausible values of what the row leaves open, other variables as in
    `layout`; None where it leaves nothing open that counts. Plausible is what fits within the spread of
    predicted memory, and all where nothing does."""
    if not setup.ranged:
        return None
    stated = {name: layout[name] for name in ORDER if name not in (*setup.ranged, *DERIVED)}
    key = tuple(sorted(stated.items()))
    low, high = _range(setup.asked, key, setup.ranged)
    return low * setup.share, high * setup.share


@cache
def _range(
    asked: Asked, stated: tuple[tuple[str, int], ...], ranged: tuple[str, ...]
) -> tuple[float, float]:
    case = case_of(asked)
    prices = price(case, _candidates(case, dict(stated), ranged))
    held = prices.memory_kib * 1024 <= case.gpu.memory * (1 + 2 * SPREAD)
    seconds = prices.step_ns[held] if held.any() else prices.step_ns
    return float(seconds.min()) / 1e9, float(seconds.max()) / 1e9


def _candidates(
    case: Case, stated: Mapping[str, int], unset: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Columns of the stated variables beside every allowed choice of the open ones, derived columns
    included."""
    choices = list(product(*(_choices(case, stated, name) for name in unset)))
    size = len(choices)
    columns = {name: np.full(size, value, dtype=np.int64) for name, value in stated.items()}
    for index, name in enumerate(unset):
        columns[name] = np.array([choice[index] for choice in choices], dtype=np.int64)
    if "dp_shard" not in columns:
        dp = (
            stated["nodes"]
            * case.cluster.gpus_per_node
            // (stated["tp"] * stated["pp"] * stated["cp"])
        )
        columns["dp_shard"] = np.where(columns["zero"] >= 1, dp, 1)
    for name, derived in DERIVED.items():
        value = derived.value(case.job, **{source: columns[source] for source in derived.of})
        columns[name] = np.broadcast_to(np.asarray(value, dtype=np.int64), (size,)).copy()
    return _allowed(case, columns, unset)


def _choices(case: Case, stated: Mapping[str, int], name: str) -> tuple[int, ...]:
    """Values that the target would try for an open variable."""
    if name == "etp":
        return tuple(sorted({1, stated["tp"]}))
    if name == "recompute_layers" and stated.get("recompute") == 2:
        return tuple(sorted({case.model.layers * eighths // 8 for eighths in range(1, 8)} | {0}))
    values = tuple(case.target.domains(case.job).get(name, (0,)))
    if name == "zero" and case.target.name == "megatron":
        # Stages 2 and 3 are another engine, Megatron-FSDP, which sources name when they use it.
        return tuple(value for value in values if value <= 1)
    if name == "vpp":
        layers, pp = case.model.layers, stated["pp"]
        even = [
            value for value in values if 0 in (layers % (pp * value), (layers + 2) % (pp * value))
        ]
        return tuple(value for value in even if fills_stages(case.model, pp, value)) or (1,)
    return values or (0,)


def _allowed(
    case: Case, columns: dict[str, np.ndarray], unset: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """The choices that divide the batch and break no rule of the framework; a rule that all of them
    break is one
    that the stated layout breaks, and does not count."""
    step = columns["micro_batch"] * columns["dp"]
    keep = case.train.global_batch % step == 0
    keep &= (columns["recompute"] == 2) | (columns["recompute_layers"] == 0)
    if not keep.any():
        raise Unusable("impossible batch: no micro-batch divides it")
    chosen = {*unset, "microbatches", "schedule"}
    for rule in case.target.predicates:
        if chosen & set(rule.of):
            met = keep & np.broadcast_to(holds(rule, case.job, columns), keep.shape)
            keep = met if met.any() else keep
    return {name: column[keep] for name, column in columns.items()}
