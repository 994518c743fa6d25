"""A full fine-tuning by a trainer's arguments -> the job and the layout that have its memory.

Sharded by DeepSpeed or by FSDP it has the states of ZeRO: 16 bytes a parameter in either, since
accelerate keeps FSDP's weights in fp32 under mixed precision (1.15 utils/fsdp_utils.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..backends import BACKENDS
from ..backends.deepspeed.read.document import NotADocument, document
from ..backends.deepspeed.read.files import offload
from ..backends.deepspeed.read.settings import facts
from ..backends.huggingface.fsdp import STATES_OF
from ..backends.reader import Values
from ..compiler.plan import OFFLOAD
from ..compiler.variables import NEUTRAL
from ..dsl.expression import VALUES
from ..dsl.hardware import Cluster
from ..dsl.job import Job, TargetSpec, Train
from ..dsl.model import Model
from ..reading.bash.source import file_source
from ..reading.facts import text_of
from .facts.full_tuning import not_full
from .facts.job_blocks import NEEDED, described_model
from .facts.launched_job import LaunchedJob
from .facts.named_model import NamedModel, model_setting, named_model
from .facts.trainer import deepspeed_of_trainer, trainer_argument

_SHARDED = ("zero", "sharding")
_DEGREES = ("tp", "pp", "cp", "ulysses")


@dataclass(frozen=True)
class Tuning:
    """Inputs of the memory of a fine-tuning; `reason` says why it is not judged, empty where it is. `open` is
    a size that the files do not say, for which the job has the least."""

    reason: str = ""
    open: str = ""
    named: NamedModel | None = None
    job: Job | None = None
    layout: dict[str, int] | None = None


def tuning(launch: LaunchedJob, cluster: Cluster) -> Tuning:
    """The job of a trainer's arguments on a cluster."""
    stage, offloaded = _sharding(launch)
    named = named_model(launch)
    if reason := not_full(launch) or _unknown(launch, named, stage):
        return Tuning(reason)
    precision = _precision(launch, cluster)
    if precision is None:
        return Tuning("the precision is unknown")
    nodes, each = _gpus(launch, cluster)
    micro, length = launch.number("micro_batch") or 1, launch.number("seq_len") or 1
    again = launch.number("microbatches") or 1
    try:
        job = Job(
            name="launched",
            path=launch.path,
            digest="",
            model=Model(**_model(launch, named)),
            cluster=cluster.model_copy(update={"nodes": (nodes,), "gpus_per_node": each}),
            train=Train(
                seq_len=length,
                global_batch=micro * again * nodes * each,
                steps=1,
                precision=precision,
            ),
            targets=(TargetSpec(name=STATES_OF, options=_options(launch)),),
        )
    except ValueError:
        return Tuning("the files describe no job that parc can price")
    layout = {
        **NEUTRAL,
        "nodes": nodes,
        "tp": 1,
        "pp": 1,
        "cp": 1,
        "vpp": 1,
        "zero": stage or 0,
        "micro_batch": micro,
        "dp_shard": min(launch.number("dp_shard") or nodes * each, nodes * each),
        "recompute": VALUES["recompute"][_recomputed(launch)],
        "recompute_layers": 0,
        "offload": OFFLOAD.index(offloaded) if offloaded in OFFLOAD else 0,
        "hpz": launch.number("hpz") or 1,
    }
    if job.model.moe:
        layout |= {"ep": 1, "etp": 1}
    del layout["dp_replicate"]
    return Tuning("", _open(launch), named, job, layout)


def _options(launch: LaunchedJob) -> Any:
    """Transformers' model, whose gradients are added up as they are computed unless a config says else."""
    backend = BACKENDS[STATES_OF]
    stated = (
        backend.reader.options(launch.config) if launch.all("json") else {"accumulate": "compute"}
    )
    sums = {name: value for name, value in stated.items() if name == "accumulate"}
    return backend.target.options(model="hf", **sums)


def _sharding(launch: LaunchedJob) -> tuple[int | None, str]:
    """ZeRO's stage, or FSDP's as one, and what is offloaded: of the facts, else of a DeepSpeed config that a
    YAML names and that lies beside it."""
    stages = (launch.number(name) for name in _SHARDED)
    stage = next((each for each in stages if each is not None), None)
    offloaded = str(launch.value("offload") or "none")
    named = text_of(deepspeed_of_trainer(launch))
    if stage is not None or not named:
        return stage, offloaded
    text = launch.read(named) or launch.beside(named)
    if text is None:
        return None, offloaded
    try:
        table = document(file_source(named, text))
    except NotADocument:
        return None, offloaded
    said = {fact.name: fact.value for fact in (*facts(named, table), offload(named, table))}
    zero = said.get("zero")
    return zero if isinstance(zero, int) else None, str(said.get("offload") or "none")


def _open(launch: LaunchedJob) -> str:
    """The size that the files leave open, of those that only activations depend on."""
    sizes = (("micro_batch", "micro-batch"), ("seq_len", "sequence length"))
    words = (words for name, words in sizes if launch.number(name) is None)
    return next((f"the {each} is unknown" for each in words), "")


def _model(launch: LaunchedJob, named: NamedModel | None) -> Values:
    """Settings of the model as the files say them, over those of the model that they name."""
    return {**(named.settings if named else {}), **described_model(launch)}


def _unknown(launch: LaunchedJob, named: NamedModel | None, stage: int | None) -> str:
    """Unknown values that the states depend on."""
    if any(name not in _model(launch, named) for name in NEEDED["model"]):
        name = text_of(model_setting(launch))
        return f"nobody here knows the shape of `{name}`" if name else "the model is unknown"
    if stage is None and (config := text_of(deepspeed_of_trainer(launch))):
        return f"the ZeRO stage of `{config}` is unknown"
    if stage is None:
        return "neither DeepSpeed nor FSDP shards it, and the type of its weights is unknown"
    degrees = (name for name in _DEGREES if (launch.number(name) or 1) > 1)
    return next((f"{name} of a trainer is not priced" for name in degrees), "")


def _precision(launch: LaunchedJob, cluster: Cluster) -> Literal["bf16", "fp16"] | None:
    """axolotl's `bf16: auto` is on where the GPUs have it."""
    stated = launch.value("precision")
    if stated == "fp16":
        return "fp16"
    if stated == "bf16":
        return "bf16"
    if text_of(launch.setting("yaml", "bf16")) == "auto" and cluster.gpu.bf16 is not None:
        return "bf16"
    return None


def _gpus(launch: LaunchedJob, cluster: Cluster) -> tuple[int, int]:
    """Nodes and GPUs of a node: those of the files, else of the cluster."""
    each = launch.number("gpus_per_node") or cluster.gpus_per_node
    return launch.number("nodes") or max(cluster.nodes), each


def _recomputed(launch: LaunchedJob) -> str:
    """The stated recomputation, else the one that needs least memory, as LLaMA-Factory and TRL have it."""
    stated = launch.value("recompute")
    if stated in VALUES["recompute"]:
        return str(stated)
    switch = trainer_argument(launch, "disable_gradient_checkpointing")
    axolotl = launch.setting("yaml", "base_model") is not None
    return "none" if axolotl or switch is not None else "full"
