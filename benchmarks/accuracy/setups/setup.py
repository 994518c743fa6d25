"""A measured row -> what was run: model, cluster and training as a priced case, the layout, and
what stays open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import gcd
from typing import Any

from benchmarks.accuracy.rows import gpu_names
from benchmarks.accuracy.rows.csv_rows import Row, Unusable
from benchmarks.accuracy.setups import memory_traits, stated_facts
from benchmarks.accuracy.setups.model import checked, model_of
from benchmarks.accuracy.setups.stacks import STACKS, Stack, stack_of
from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.dsl import JobError, std_cluster, std_gpu
from parc.dsl.expression import VALUES
from parc.dsl.hardware import Cluster, Gpu
from parc.dsl.job import Job, TargetSpec, Train
from parc.dsl.model import Model

RECOMPUTE = VALUES["recompute"]
#: Dropout of Megatron-LM's defaults, from before fused attention; later recipes have none (arguments.py,
#: --attention-dropout and --hidden-dropout).
UNFUSED_DROPOUT = 0.1
#: Variables that a row must state to have one price.
RANGED = ("micro_batch", "recompute", "recompute_layers", "ep")
#: Bytes per second.
GIGA_BITS = 1e9 / 8


@dataclass(frozen=True)
class Asked:
    """Inputs of a case: everything but the layout."""

    model: Model
    cluster: Cluster
    train: Train
    target: str
    traits: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Setup:
    """One run as parc prices it. `layout` holds the variables that the source states; `open` the
    names of the others. `share` is the batch over the priced batch, which whole micro-batches fill.
    """

    row: Row
    asked: Asked
    case: Case
    stack: Stack
    layout: Mapping[str, int]
    open: tuple[str, ...]
    one_layer: bool = False
    share: float = 1.0

    @property
    def ranged(self) -> tuple[str, ...]:
        """Variables that the row leaves open and that no default of a framework decides."""
        return tuple(name for name in self.open if name in RANGED)


def _need(value: int | None, what: str) -> int:
    if value is None:
        raise Unusable(f"{what} not stated")
    return value


def gpu_of(row: Row) -> Gpu:
    """The GPU of the standard library, or the part of it that the row names."""
    named = gpu_names.gpu_named(row.gpu)
    if named is None and (several := gpu_names.gpus_like(row.gpu)):
        raise Unusable(f"GPU `{row.gpu}` may be {' or '.join(several)}")
    if named is None:
        raise Unusable(f"unknown GPU `{row.gpu}`" if row.gpu else "GPU not stated")
    usual = std_gpu_named(gpu_names.GPUS[named])
    if not row.gpu_part:
        return usual
    try:
        part = std_gpu_named(row.gpu_part)
    except JobError:
        raise Unusable(f"unknown gpu_part `{row.gpu_part}`") from None
    if part.arch != usual.arch or part.name in {*gpu_names.GPUS.values()} - {usual.name}:
        raise Unusable(f"gpu_part `{row.gpu_part}` contradicts GPU `{row.gpu}`")
    return part


def cluster_of(row: Row, gpu: Gpu) -> Cluster:
    """The row's nodes of that GPU: its usual cluster's, but for the network that the row states."""
    gpus = _need(row.gpus, "number of GPUs")
    name = row.cluster or gpu_names.HOME[gpu_names.GPUS[gpu_names.gpu_named(row.gpu) or ""]]
    try:
        base = std_cluster_named(name)
    except JobError:
        raise Unusable(f"unknown cluster `{name}`") from None
    whole = row.gpus_per_node or base.gpus_per_node
    per_node = gpus if gpus < whole else gcd(gpus, whole)
    change: dict[str, Any] = {
        "gpu": gpu,
        "gpus_per_node": per_node,
        "nodes": (gpus // per_node,),
        "nvlink_domain": base.nvlink_domain or whole,
    }
    if row.node_gbps is not None:
        change["network"] = row.node_gbps * GIGA_BITS / whole
    return base.model_copy(update=change)


@cache
def std_cluster_named(name: str) -> Cluster:
    return std_cluster(name)


@cache
def std_gpu_named(name: str) -> Gpu:
    return std_gpu(name).model_copy(update={"name": name})


def train_of(row: Row, stack: Stack, kernel: str, batch: int) -> Train:
    fused = kernel not in stated_facts.UNFUSED
    return checked(
        Train,
        {
            "seq_len": _need(row.seq_len, "sequence length"),
            "global_batch": batch,
            "steps": 1,
            "precision": stated_facts.precision_of(row),
            "optimizer": stated_facts.optimizer_of(row),
            "attention": "flash" if fused else "unfused",
            "dropout": 0.0 if fused else UNFUSED_DROPOUT,
            "compile": stated_facts.compiled(row, stack),
        },
    )


@cache
def case_of(asked: Asked) -> Case:
    """One case for all rows that ask for the same. Raises Unusable for a precision that the GPU lacks."""
    declared = BACKENDS[asked.target].target
    # What ran is what the row says, not what a job has by default.
    traits = declared.traits.replaced(**dict(asked.traits))
    target = replace(declared, traits=traits, stack=lambda job: {})
    spec = TargetSpec(name=asked.target, options=target.options())
    job = Job(
        name=asked.model.name,
        path="",
        digest="",
        model=asked.model,
        cluster=asked.cluster,
        train=asked.train,
        targets=(spec,),
    )
    if asked.cluster.gpu.rate(asked.train.precision) is None:
        raise Unusable(f"{asked.cluster.gpu.name} has no {asked.train.precision} rate")
    return Case(job, target)


def setup_of(row: Row, stacks: Sequence[Stack] = STACKS) -> Setup:
    """A row as its entry of `stacks` says. Raises Unusable with the reason when it cannot be priced."""
    stack = stack_of(row, stacks)
    zero = stack.zero if row.zero_stage is None else row.zero_stage
    row = replace(row, zero_stage=zero, recompute=row.recompute or stack.recompute)
    target = stack.sharded if zero == 3 else stack.target
    kernel = stated_facts.attention_kernel(row, stack)
    gpu = stated_facts.gpu_as_run(gpu_of(row), row, stack)
    cluster, model = cluster_of(row, gpu), model_of(row)
    mesh = _mesh(row)
    step = (row.mbs or 1) * mesh["dp"]
    stated = _need(row.gbs or (None if row.timed else step), "global batch")
    batch = -(-stated // step) * step
    train = train_of(row, stack, kernel, batch)
    traits = stated_facts.traits_of(row, stack, kernel, gpu)
    traits = memory_traits.with_moments(row, traits, BACKENDS[target].target.traits.memory.state)
    asked = Asked(model, cluster, train, target, traits)
    case = case_of(asked)
    layout, unset = _layout(row, stack, case, mesh)
    return Setup(
        row=row,
        asked=asked,
        case=case,
        stack=stack,
        layout=layout,
        open=unset,
        one_layer=row.layers == 1 and row.vocab is None,
        share=stated / batch,
    )


def _mesh(row: Row) -> dict[str, int]:
    """The degrees that every row must state, checked against each other."""
    mesh = {"tp": _need(row.tp, "layout"), "pp": _need(row.pp, "layout"), "cp": row.cp or 1}
    gpus, ways = _need(row.gpus, "number of GPUs"), mesh["tp"] * mesh["pp"] * mesh["cp"]
    dp = row.dp or max(gpus // ways, 1)
    if ways * dp != gpus:
        raise Unusable("impossible layout: tp * pp * cp * dp is not the number of GPUs")
    if row.gbs and row.gbs % dp:
        raise Unusable("impossible batch: no multiple of dp")
    if row.layers and mesh["pp"] * (row.vpp or 1) > row.layers + 2:
        raise Unusable("impossible layout: more pipeline stages than layers")
    if row.experts and row.experts % (row.ep or 1):
        raise Unusable("impossible layout: experts are no multiple of ep")
    return {**mesh, "dp": dp}


def _layout(
    row: Row, stack: Stack, case: Case, mesh: Mapping[str, int]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The variables that the row states, and the names of those it leaves open."""
    recompute, layers = _recompute(row, stack, case.model)
    single = mesh["dp"] * mesh["cp"] == 1
    stated: dict[str, int | None] = {
        "nodes": case.cluster.nodes[0],
        **{name: mesh[name] for name in ("tp", "pp", "cp")},
        "zero": 0 if row.zero_stage is None and single else row.zero_stage,
        "micro_batch": row.mbs,
        "vpp": 1 if mesh["pp"] == 1 else row.vpp,
        "ep": row.ep or (None if case.model.moe else 1),
        "etp": _experts_tp(row, stack, case.model, mesh),
        "recompute": recompute,
        "recompute_layers": layers,
        "offload": row.offload or 0,
        "hpz": 1,
        "order": 0,
    }
    if row.zero_stage is not None or single:
        stated["dp_shard"] = _shards(row, mesh)
    layout = {name: value for name, value in stated.items() if value is not None}
    unset = tuple(name for name, value in stated.items() if value is None)
    return layout, unset


def _experts_tp(row: Row, stack: Stack, model: Model, mesh: Mapping[str, int]) -> int:
    """Ways in which tp divides each expert: the row's, else the framework's habit."""
    if not model.moe:
        return 1
    etp = row.etp or (1 if stack.whole_experts else mesh["tp"])
    if (mesh["tp"] * mesh["cp"] * mesh["dp"]) % (etp * (row.ep or 1)):
        raise Unusable("impossible layout: etp * ep does not divide tp * cp * dp")
    return etp


def _recompute(row: Row, stack: Stack, model: Model) -> tuple[int | None, int | None]:
    """The mode, and how many layers a full recompute repeats (0: all); None is open."""
    if not row.recompute:
        return None, None
    if row.recompute not in RECOMPUTE:
        raise Unusable(f"unknown recompute `{row.recompute}`")
    if (row.recompute_layers or 0) > model.layers:
        raise Unusable("impossible `recompute_layers`: more than layers")
    if row.recompute == "selective" and stack.blocks:
        return 2, row.recompute_layers
    if row.recompute != "full":
        return RECOMPUTE[row.recompute], 0
    whole = round(model.layers * (1 - _ends(model))) if stack.saves_ends else 0
    return 2, row.recompute_layers or whole


def _ends(model: Model) -> float:
    """Share of a dense block's products that are its first, queries, keys and values, and its last."""
    first = model.hidden * model.head_size * (model.heads + 2 * model.groups)
    last = model.ffn * model.hidden
    between = model.heads * model.head_size * model.hidden + model.gated * last + last
    return (first + last) / (first + between + last)


def _shards(row: Row, mesh: Mapping[str, int]) -> int:
    """dp_shard: the group that ZeRO divides over, without cp."""
    if not row.zero_stage:
        return 1
    shards = (row.fsdp_shard_group or mesh["dp"] * mesh["cp"]) // mesh["cp"]
    return shards if shards and mesh["dp"] % shards == 0 else mesh["dp"]
