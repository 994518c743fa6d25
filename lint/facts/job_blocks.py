"""The job that launch files describe, as far as it is known, by the names of the language."""

from typing import Any

from ...backends import BACKENDS, reader_of
from ...backends.described import known
from ...backends.reader import Values
from ...compiler.plan import PASSES
from ...dsl.expression import VALUES
from ...dsl.hardware import Cluster
from ...dsl.job import Job, TargetSpec, Train
from ...dsl.model import Model
from .launched_job import LaunchedJob

#: Facts that are sizes of the model.
_SIZES = ("layers", "hidden", "heads", "kv_heads")
#: What a job cannot do without.
NEEDED = {
    "model": ("layers", "hidden", "heads", "ffn", "vocab"),
    "train": ("seq_len", "global_batch", "steps"),
}
NO_FRAMEWORK = "no framework that parc prices is named"
_WORDS = {
    "hidden": "hidden size",
    "ffn": "feed-forward size",
    "vocab": "vocabulary",
    "seq_len": "sequence length",
    "global_batch": "global batch",
}
_PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4")
#: Degrees that a layout without experts has not.
EXPERT_DEGREES = ("ep", "etp")
RECOMPUTED = tuple(VALUES["recompute"])


def described_model(launch: LaunchedJob) -> Values:
    """Known settings of the model. Nothing is taken from a model that only looks alike."""
    found = known(**{name: launch.number(name) for name in _SIZES})
    if reader := reader_of(launch.config):
        found |= reader.model(launch.config)
    if found.get("kv_heads") == found.get("heads"):
        found.pop("kv_heads", None)
    return found


def described_train(launch: LaunchedJob) -> Values:
    """Known settings of the training: batch, length, precision, optimizer.

    The names of settings tell whose they are, so every framework is asked; the first one's answer counts.
    """
    found = known(**{name: launch.number(name) for name in ("seq_len", "global_batch")})
    precision = launch.value("precision")
    found |= known(precision=precision if precision in _PRECISIONS else None)
    own = reader_of(launch.config) if launch.framework is None else None
    for reader in [*([own] if own else []), *(backend.reader for backend in BACKENDS.values())]:
        told = reader.train(launch.config).items()
        found |= {name: value for name, value in told if name not in found}
    return found


def described_layout(launch: LaunchedJob) -> dict[str, int | str]:
    """The layout in the words of a goal."""
    degrees = ("tp", "pp", "vpp", "cp", "ep", "etp")
    found: dict[str, int | str] = known(**{name: launch.number(name) for name in degrees})
    if (launch.number("ulysses") or 1) > 1:
        found["cp"] = launch.number("ulysses") or 1
    if not launch.number("experts"):
        found = {name: ways for name, ways in found.items() if name not in EXPERT_DEGREES}
    found |= known(**{name: launch.number(name) for name in ("micro_batch", "zero")})
    found |= {name: size for name in ("hpz",) if (size := launch.number(name) or 1) > 1}
    if (launch.number("dp_replicate") or 1) > 1:
        found |= known(dp_shard=launch.number("dp_shard"))
    recompute, offload = launch.value("recompute"), launch.value("offload")
    order = launch.value("order")
    found |= {"order": order} if order in PASSES and found.get("pp", 1) != 1 else {}
    found |= {"offload": offload} if offload in ("optimizer", "all") else {}
    found |= {"recompute": str(recompute)} if recompute in RECOMPUTED else {}
    reader = reader_of(launch.config)
    return found | (reader.layout(launch.config) if reader else {})


def undivided(launch: LaunchedJob) -> dict[str, int]:
    """Degrees of 1 that the files state where the search might choose another one."""
    names = ("hpz", "dp_replicate") if launch.number("zero") == 3 else ("dp_replicate",)
    return {name: 1 for name in names if launch.number(name) == 1}


def _train(launch: LaunchedJob) -> Values:
    return {"steps": 1, **described_train(launch)}


def undescribed(launch: LaunchedJob, cluster: Cluster) -> str:
    """Why the files do not say a whole job on a cluster; empty where they do."""
    if launch.framework not in BACKENDS:
        return NO_FRAMEWORK
    model, train = described_model(launch), _train(launch)
    for name in NEEDED["model"]:
        if name not in model:
            return f"the model's {_WORDS.get(name, name)} {_are(name)} unknown"
    for name in NEEDED["train"]:
        if name not in train:
            return f"the {_WORDS.get(name, name)} is unknown"
    gpus = launch.number("gpus_per_node")
    if launch.number("nodes") is None or gpus is None:
        return f"the number of {'nodes' if gpus else 'GPUs of a node'} is unknown"
    if gpus != cluster.gpus_per_node:
        return f"a node has {gpus} GPUs here and {cluster.gpus_per_node} on the cluster"
    return ""


def _are(name: str) -> str:
    return "are" if name in ("layers", "heads") else "is"


def described_job(launch: LaunchedJob, cluster: Cluster) -> Job | None:
    """The whole job on a cluster, for pricing; None where something that it needs is unknown."""
    nodes = launch.number("nodes")
    model, train = described_model(launch), _train(launch)
    if nodes is None or launch.framework is None or undescribed(launch, cluster):
        return None
    try:
        return Job(
            name="launched",
            path=launch.path,
            digest="",
            model=Model(**model),
            cluster=cluster.model_copy(update={"nodes": (nodes,)}),
            train=Train(**train),
            targets=(TargetSpec(name=launch.framework, options=_options(launch)),),
        )
    except ValueError:
        return None


def _options(launch: LaunchedJob) -> Any:
    """The target block that the files would have: what runs beneath it is priced as they say it."""
    backend = BACKENDS[launch.framework or ""]
    return backend.target.options(**backend.reader.options(launch.config))
