"""A measured row -> what was run: model, cluster and training as a priced case, the layout, and
what stays open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import gcd
from typing import Any, TypeVar

from pydantic import ValidationError

from benchmarks.accuracy.rows import sources
from benchmarks.accuracy.rows.csv_rows import Row, Unusable
from benchmarks.accuracy.setups import frameworks, memory_traits
from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.dsl import std_cluster, std_entries, std_gpu, std_model
from parc.dsl.hardware import Cluster, Gpu
from parc.dsl.job import Job, TargetSpec, Train
from parc.dsl.model import Model

RECOMPUTE = {"none": 0, "selective": 1, "full": 2}
#: Dropout of Megatron-LM's defaults, from before fused attention; later recipes have none (arguments.py,
#: --attention-dropout and --hidden-dropout).
UNFUSED_DROPOUT = 0.1


@dataclass(frozen=True)
class Asked:
    """What decides a case: everything but the layout."""

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
    framework: str
    layout: Mapping[str, int]
    open: tuple[str, ...]
    one_layer: bool = False
    share: float = 1.0


def _need(value: int | None, what: str) -> int:
    if value is None:
        raise Unusable(f"{what} not stated")
    return value


def gpu_of(row: Row) -> Gpu:
    named = sources.gpu_named(row.gpu)
    if named is None and (several := sources.gpus_like(row.gpu)):
        raise Unusable(f"GPU `{row.gpu}` may be {' or '.join(several)}")
    if named is None:
        raise Unusable(f"unknown GPU `{row.gpu}`" if row.gpu else "GPU not stated")
    name = sources.GPUS[named]
    kernel = sources.first(sources.KERNELS, row.source, row.about)
    return _part(name, sources.first(sources.PARTS, row.notes).pattern, kernel.pattern)


@cache
def _part(name: str, pattern: str, kernel: str) -> Gpu:
    change = next(part.change for part in sources.PARTS if part.pattern == pattern)
    gpu = std_gpu(name).model_copy(update={"name": name, **change})
    older = next(each.efficiency for each in sources.KERNELS if each.pattern == kernel)
    share = older.get(gpu.arch, gpu.attention_efficiency)
    return gpu.model_copy(update={"attention_efficiency": min(share, gpu.attention_efficiency)})


def cluster_of(row: Row) -> Cluster:
    gpu, gpus = gpu_of(row), _need(row.gpus, "number of GPUs")
    machine = sources.first(sources.MACHINES, f"{row.source} {row.gpu}", row.about)
    base = std_cluster_named(machine.cluster or sources.HOME[gpu.name])
    if machine.kernels:
        reserve = gpu.reserve - sources.LAZY_KERNELS + machine.kernels
        gpu = gpu.model_copy(update={"reserve": reserve})
    whole = row.gpus_per_node or base.gpus_per_node
    per_node = gpus if gpus < whole else gcd(gpus, whole)
    change: dict[str, Any] = {
        "gpu": gpu,
        "gpus_per_node": per_node,
        "nodes": (gpus // per_node,),
        "nvlink_domain": base.nvlink_domain or whole,
    }
    if machine.node_network is not None:
        change["network"] = machine.node_network / whole
    return base.model_copy(update=change)


@cache
def std_cluster_named(name: str) -> Cluster:
    return std_cluster(name)


def model_of(row: Row) -> Model:
    """Raises Unusable when dimensions are missing or impossible."""
    stated = {key: value for key, value in _dimensions(row).items() if value is not None}
    known = _known(row.model)
    fields = {**(std_model(known).model_dump() if known else _conventions(row, stated)), **stated}
    if fields["hidden"] % fields["heads"] and not fields.get("head_dim"):
        raise Unusable("impossible dimensions: hidden is no multiple of heads")
    return _checked(Model, fields)


def _conventions(row: Row, stated: Mapping[str, Any]) -> dict[str, Any]:
    """What a model that the standard library does not have takes from its family."""
    if re.search(sources.HYBRIDS, row.model):
        raise Unusable("state-space layers are not in the language")
    assumed = {"vocab": 1} if row.layers == 1 else {}
    if not {"layers", "hidden", "heads", "ffn", "vocab"} <= {*assumed, *stated}:
        raise Unusable("model dimensions not stated")
    habits = sources.first(sources.FAMILIES, row.model).fields
    plain = sources.GATED if row.gated_mlp else sources.PLAIN
    return {"name": row.model, **assumed, **plain, **habits}


def _known(name: str) -> str | None:
    """The model of the standard library that a row means by a name alone."""
    plain = _plain(name)
    for pattern, other in sources.ALIKE:
        plain = re.sub(pattern, other, plain)
    return _standard_models().get(plain)


@cache
def _standard_models() -> dict[str, str]:
    return {_plain(entry.name): entry.name for entry in std_entries() if entry.kind == "model"}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().partition("[")[0])


def _dimensions(row: Row) -> dict[str, Any]:
    experts = row.experts or None
    return {
        "layers": row.layers,
        "hidden": row.hidden,
        "heads": row.heads,
        "kv_heads": row.kv_heads,
        "ffn": row.ffn_hidden or row.moe_ffn_hidden,
        "vocab": row.vocab,
        "gated": None if row.gated_mlp is None else bool(row.gated_mlp),
        "head_dim": _noted(r"head dim (\d+)", row.notes),
        "experts": experts,
        "topk": row.topk if experts else None,
        "expert_ffn": row.moe_ffn_hidden if experts else None,
        "shared_experts": _noted(r"(\d+) shared expert", row.notes) if experts else None,
    }


def _noted(pattern: str, notes: str) -> int | None:
    found = re.search(pattern, notes)
    return int(found[1]) if found else None


Checked = TypeVar("Checked", Model, Train)


def _checked(kind: type[Checked], values: Mapping[str, Any]) -> Checked:
    """Raises Unusable where the language takes no such value."""
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        places = error.errors()[0]["loc"]
        raise Unusable(f"impossible `{places[0] if places else kind.__name__.lower()}`") from None


def train_of(row: Row, framework: frameworks.Framework, batch: int) -> Train:
    fused = not row.attention.startswith("unfused")
    if row.precision not in ("bf16", "fp16", "fp8", "mxfp8"):
        raise Unusable(
            f"precision `{row.precision}` is not in the language"
            if row.precision
            else "precision not stated"
        )
    return _checked(
        Train,
        {
            "seq_len": _need(row.seq_len, "sequence length"),
            "global_batch": batch,
            "steps": 1,
            "precision": row.precision,
            "optimizer": "adam8bit" if "8-bit" in row.notes else "adam",
            "attention": "flash" if fused else "unfused",
            "dropout": 0.0 if fused else UNFUSED_DROPOUT,
            "compile": framework.compiles or "torch.compile" in row.notes,
        },
    )


@cache
def case_of(asked: Asked) -> Case:
    """One case for all rows that ask for the same. Raises Unusable for a precision that the GPU lacks."""
    target = BACKENDS[asked.target].target
    if asked.traits:
        target = replace(target, traits=target.traits.replaced(**dict(asked.traits)))
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


def setup_of(row: Row) -> Setup:
    """Raises Unusable with the reason when a row cannot be priced."""
    framework = sources.first(frameworks.FRAMEWORKS, row.source, f"{row.where} {row.notes}")
    row = replace(row, **sources.first(sources.ASSUMED, row.source).fields)
    target = framework.sharded if row.zero_stage == 3 else framework.target
    cluster, model = cluster_of(row), model_of(row)
    mesh = _mesh(row)
    step = (row.mbs or 1) * mesh["dp"]
    stated = _need(row.gbs or (None if row.timed else step), "global batch")
    batch = -(-stated // step) * step
    train = train_of(row, framework, batch)
    asked = Asked(model, cluster, train, target, _traits(row, framework, mesh["tp"]))
    case = case_of(asked)
    layout, unset = _layout(row, framework, case, mesh)
    return Setup(
        row=row,
        asked=asked,
        case=case,
        framework=(
            "DeepSpeed ZeRO-3" if target == "deepspeed" and row.zero_stage == 3 else framework.name
        ),
        layout=layout,
        open=unset,
        one_layer=row.layers == 1 and row.vocab is None,
        share=stated / batch,
    )


def _traits(row: Row, framework: frameworks.Framework, tp: int) -> tuple[tuple[str, Any], ...]:
    """Traits of the target to replace: the framework's, and what the row says of its run.

    fp16 runs sum and send gradients in fp16 unless told otherwise (Megatron-LM, arguments.py), which no
    source says.
    """
    run = f"{row.source}, {row.where}, {row.gpu} {row.precision} {row.model}, {row.notes}"
    recipe = sources.first(frameworks.RECIPES, run)
    traits = (*framework.traits, *recipe.traits, *memory_traits.traits_of(row, framework))
    if row.sp == 0 and tp > 1:
        traits = (*traits, ("sequence_parallel", False))
    if row.precision == "fp16":
        traits = (*traits, ("reduce_bytes", 2.0))
    return traits


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
    row: Row, framework: frameworks.Framework, case: Case, mesh: Mapping[str, int]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The variables that the row states, and the names of those it leaves open."""
    recompute, layers = _recompute(row, framework)
    single = mesh["dp"] * mesh["cp"] == 1
    stated: dict[str, int | None] = {
        "nodes": case.cluster.nodes[0],
        **{name: mesh[name] for name in ("tp", "pp", "cp")},
        "zero": 0 if row.zero_stage is None and single else row.zero_stage,
        "micro_batch": row.mbs,
        "vpp": 1 if mesh["pp"] == 1 else row.vpp,
        "ep": row.ep or 1,
        "etp": 1 if mesh["tp"] == 1 or not case.model.moe else None,
        "recompute": recompute,
        "recompute_layers": layers,
        "offload": _offload(row),
        "hpz": 1,
    }
    if row.zero_stage is not None or single:
        stated["dp_shard"] = _shards(row, mesh)
    layout = {name: value for name, value in stated.items() if value is not None}
    unset = tuple(name for name, value in stated.items() if value is None)
    return layout, unset


def _recompute(row: Row, framework: frameworks.Framework) -> tuple[int | None, int | None]:
    if not row.recompute:
        return None, None
    if row.recompute not in RECOMPUTE:
        raise Unusable(f"unknown recompute `{row.recompute}`")
    if row.recompute == "selective" and framework.name == "fms-fsdp":
        # A share of the blocks, each recomputed whole; the README does not state the share.
        return 2, None
    if "selective layer" in row.notes and row.layers:
        # torchtitan recomputes every second layer whole (selective_ac_option = 2).
        return 2, row.layers // 2
    return RECOMPUTE[row.recompute], 0


def _shards(row: Row, mesh: Mapping[str, int]) -> int:
    """dp_shard: the group that ZeRO divides over, without cp."""
    if not row.zero_stage:
        return 1
    shards = (row.fsdp_shard_group or mesh["dp"] * mesh["cp"]) // mesh["cp"]
    return shards if shards and mesh["dp"] % shards == 0 else mesh["dp"]


def _offload(row: Row) -> int:
    """0 none, 1 optimizer, 2 all."""
    if not row.offload:
        return 0
    return 2 if re.search(r"full offload|parameter offload 1", row.notes) else 1
