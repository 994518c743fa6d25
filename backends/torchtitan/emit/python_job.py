"""Plan -> torchtitan/parc_job.py, the Python configuration that torchtitan 0.3.0 reads instead of TOML."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....compiler.plan import Plan
from ....dsl.job import Job
from ....dsl.model import Model
from ...languages import python
from ...languages.python import Python
from ...render import format_python, provenance, render
from .. import stack
from ..models import family, flavor
from ..options import Options, options_of
from ..releases import release
from . import reasons
from .data_file import loader_names, loaders, needed, untokenised
from .section import Section, Setting
from .sections import sections

FILE = "torchtitan/parc_job.py"


@dataclass(frozen=True)
class Family:
    """Names of a model's parts in torchtitan.models.<folder>, and of its rotary embedding."""

    folder: str
    model: str
    block: str
    parallelize: str
    adapter: str
    rope: str


FAMILIES = {
    "llama3": Family(
        "llama3",
        "Llama3Model",
        "Llama3TransformerBlock",
        "parallelize_llama",
        "Llama3StateDictAdapter",
        "ComplexRoPE",
    ),
    "qwen3": Family(
        "qwen3",
        "Qwen3Model",
        "Qwen3TransformerBlock",
        "parallelize_qwen3",
        "Qwen3StateDictAdapter",
        "CosSinRoPE",
    ),
}
#: The class behind each section of `Trainer.Config`.
CLASSES = {
    "training": "TrainingConfig",
    "parallelism": "ParallelismConfig",
    "lr_scheduler": "LRSchedulersContainer.Config",
    "compile": "CompileConfig",
    "comm": "CommConfig",
    "checkpoint": "CheckpointManager.Config",
    "metrics": "MetricsProcessor.Config",
    "profiler": "Profiler.Config",
    "validator": "Validator.Config",
    "debug": "DebugConfig",
}
#: Settings of 0.2.2 that 0.3.0 has elsewhere or not at all.
GONE = {
    "training": {"dataset", "dataset_path"},
    "parallelism": {"expert_tensor_parallel_degree"},
    "optimizer": {"name", "lr", "beta1", "beta2", "weight_decay"},
}
RECOMPUTE = ("", "SelectiveAC", "FullAC")


def python_job(plan: Plan, summary: list[str]) -> str:
    job, options = plan.job, options_of(plan.job)
    kind = FAMILIES[family(job)]
    values = {
        "provenance": provenance(plan),
        "name": job.name,
        "release": release(job).name,
        "summary": summary,
        "model": job.model,
        "family": kind,
        "flavor": flavor(job),
        "sizes": _sizes(job),
        "attention": stack.attention(job),
        "attention_package": stack.package(job),
        "rope": {"kind": kind.rope, "arguments": _rope(job)},
        "router": _router(job.model),
        "recompute": RECOMPUTE[plan.layout.recompute],
        "recompute_reason": reasons.recompute(plan),
        "paths": _paths(options),
        "loaders": loaders(plan),
        "loader_names": loader_names(plan),
        "dataloader_extra": _tables(plan).get("dataloader", []),
        "data": {"imported": needed(plan), "untokenised": untokenised(plan)},
        "saves": options.save,
        "elastic": job.elastic and options.save,
        "adam": _adam(job),
        "bare_stage": plan.layout.cp > 1 and 0 in plan.estimate.split,
        "classes": CLASSES,
        "tables": {key: each for key, each in _tables(plan).items() if key != "dataloader"},
    }
    return format_python(render("torchtitan/parc_job.py.j2", values))


def _sizes(job: Job) -> dict[str, int]:
    model = job.model
    sizes = {
        "LAYERS": model.layers,
        "HIDDEN": model.hidden,
        "HEADS": model.heads,
        "KV_HEADS": model.groups,
        "HEAD_SIZE": model.head_size,
        "VOCABULARY": model.vocab,
    }
    if not model.moe:
        return sizes | {"FFN": model.ffn}
    sizes |= {"EXPERTS": model.experts, "TOP_K": model.topk, "EXPERT_FFN": model.expert_width}
    if model.shared_experts:
        sizes["SHARED_FFN"] = model.shared_experts * model.expert_width
    return sizes


def _rope(job: Job) -> Python:
    """Llama 3.1's scaling is ComplexRoPE's alone (models/common/rope.py:285)."""
    model = job.model
    values: dict[str, object] = {
        "dim": python.name("HEAD_SIZE"),
        "max_seq_len": job.train.seq_len,
        "theta": model.rope_theta,
    }
    if model.rope_scaling != "none":
        values |= {
            "scaling": "llama",
            "scaling_factor": model.rope_factor,
            "low_freq_factor": model.rope_low_freq,
            "high_freq_factor": model.rope_high_freq,
            "original_max_position_embeddings": model.rope_original_positions,
        }
    return python.arguments(values)


def _router(model: Model) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "score_func": model.router_score,
        "route_norm": model.router_norm,
        "route_scale": model.router_scale,
    }
    if model.router_groups is not None:
        settings["num_expert_groups"] = model.router_groups
        settings["num_limited_groups"] = model.router_limited_groups
    return settings


#: torchtitan's own folder, where launch.sh, which names the run's, does not start it.
OUTPUTS = "./outputs"


def _paths(options: Options) -> dict[str, dict[str, str]]:
    folder = OUTPUTS if "$" in options.dump_folder else options.dump_folder
    return {
        "hf_assets_path": {"variable": "HF_ASSETS_PATH", "default": options.hf_assets_path},
        "dump_folder": {"variable": "DUMP_FOLDER", "default": folder},
    }


def _adam(job: Job) -> dict[str, object]:
    train = job.train
    return {
        "lr": train.learning_rate,
        "betas": (train.beta1, train.beta2),
        "eps": 1e-8,
        "weight_decay": train.weight_decay,
    }


def _tables(plan: Plan) -> dict[str, list[Python]]:
    """Keyword arguments of each section's class, with their comments."""
    found: dict[str, list[Python]] = {}
    for section in sections(plan):
        settings, comments = _changed(plan, section)
        kept = {
            key: value
            for key, value in settings.items()
            if key not in GONE.get(section.name, set())
        }
        if section.name in CLASSES or (section.name in ("optimizer", "dataloader") and kept):
            found[section.name] = [
                python.argument(key, value, comments.get(key)) for key, value in kept.items()
            ]
    return found


def _changed(plan: Plan, section: Section) -> tuple[Mapping[str, Setting], Mapping[str, str]]:
    """CUDA graphs are on by default in 0.3.0, and capture neither a pipeline nor the standard dispatcher of
    experts (trainer.py:185, 204)."""
    reason = " and ".join(
        f"{name} {degree}"
        for name, degree in (("pp", plan.layout.pp), ("ep", plan.layout.ep))
        if degree > 1
    )
    chosen = options_of(plan.job).cuda_graph
    off = bool(reason) if chosen is None else not chosen
    if section.name != "training" or not off:
        return section.settings, section.comments
    graphs = {"disable_cuda_graphs": True}
    note = {"disable_cuda_graphs": f"graphs cannot capture {reason}"} if reason else {}
    return graphs | dict(section.settings), note | dict(section.comments)
