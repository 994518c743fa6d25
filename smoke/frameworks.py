"""What each framework needs to train a shrunken job here, and how its log tells of a step."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..backends.deepspeed.options import options_of as deepspeed_options
from ..backends.megatron.options import Options as MegatronOptions
from ..backends.torchtitan.options import options_of as torchtitan_options
from ..dsl.job import Job
from .assets import write_assets
from .interpreter import Interpreter

Extra = dict[str, str | int | float | bool]

#: Settings of `extra` that only a GPU can do.
GPU_ALONE = frozenset({
    "parallelism.enable_async_tensor_parallel", "parallelism.expert_parallel_comm_backend",
    "zero_optimization.zero_quantized_weights", "zero_optimization.zero_quantized_gradients",
    "zero_optimization.zero_quantized_nontrainable_weights",
})  # fmt: skip
#: torchtitan 0.2.2's settings that keep a run small and its log plain.
PLAIN: Extra = {
    "metrics.disable_color_printing": True,
    "metrics.enable_tensorboard": False,
    "metrics.enable_wandb": False,
}
#: A fused optimizer is for GPUs.
ON_CPU: Extra = {"optimizer.implementation": "for-loop"}


@dataclass(frozen=True)
class Framework:
    """`step` finds number and loss in a log line; `held` are degrees that stay 1 without a GPU."""

    needs: Callable[[Job], tuple[str, ...]]
    install: Callable[[Job], str]
    settings: Callable[[Job, Path, bool], Any]
    step: re.Pattern[str]
    held: Callable[[Job], Collection[str]] = field(default=lambda job: ())
    environment: Callable[[Path], Mapping[str, str]] = field(default=lambda folder: {})
    refuses: Callable[[Interpreter], str | None] = field(default=lambda interpreter: None)


def without_gpu_settings(extra: Mapping[str, Any], gpus: bool) -> Extra:
    return {key: value for key, value in extra.items() if gpus or key not in GPU_ALONE}


def _torchtitan(job: Job, folder: Path, gpus: bool) -> Any:
    write_assets(folder)
    options = torchtitan_options(job)
    extra = without_gpu_settings(options.extra, gpus) | PLAIN | ({} if gpus else ON_CPU)
    changed = {
        "dataset": "c4_test",
        "data": str(folder / "data"),
        "hf_assets_path": str(folder / "tokenizer"),
        "dump_folder": str(folder / "outputs"),
        "log_freq": 1,
        "extra": extra,
    }
    return options.model_copy(update=changed)


def _deepspeed(job: Job, folder: Path, gpus: bool) -> Any:
    """DeepSpeed's own Adam is a GPU kernel, whose stand-in for CPUs takes minutes to compile."""
    options = deepspeed_options(job)
    changed = {
        "adam": options.adam if gpus else "torch",
        "data": None,
        "save": str(folder / "checkpoints"),
        "log_interval": 1,
        "extra": without_gpu_settings(options.extra, gpus),
    }
    return options.model_copy(update=changed)


def _megatron(job: Job, folder: Path, gpus: bool) -> Any:
    given = job.options("megatron")
    options = given if isinstance(given, MegatronOptions) else MegatronOptions()
    changed = {
        "path": os.environ.get("MEGATRON_ROOT", options.path),
        "data": None,
        "tokenizer": None,
        "checkpoints": str(folder / "checkpoints"),
        "log_interval": 1,
        "eval_iters": 0,
        "tensorboard": None,
        "wandb": None,
    }
    return options.model_copy(update=changed)


def _megatron_refuses(interpreter: Interpreter) -> str | None:
    root = os.environ.get("MEGATRON_ROOT")
    if not root:
        return (
            "MEGATRON_ROOT is not set: training needs pretrain_gpt.py of a checkout of Megatron-LM"
        )
    if not Path(root, "pretrain_gpt.py").is_file():
        return f"MEGATRON_ROOT={root} has no pretrain_gpt.py"
    return None if interpreter.gpus else "pretrain_gpt.py trains on GPUs alone, and there is none"


def _torchtitan_on_cpu(folder: Path) -> Mapping[str, str]:
    """Its stand-ins, and a Hugging Face cache that goes with the folder."""
    return {
        "PYTHONPATH": str(Path(__file__).with_name("on_cpu")),
        "TORCHDYNAMO_DISABLE": "1",
        "HF_HOME": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


FRAMEWORKS: dict[str, Framework] = {
    "torchtitan": Framework(
        needs=lambda job: ("torch", "torchtitan"),
        install=lambda job: f"pip install torch torchtitan=={torchtitan_options(job).version}",
        settings=_torchtitan,
        step=re.compile(r"step: +(\d+) +loss: +(\d[\d.]*|nan)"),
        # PyTorch has no sharding rule for the attention of CPUs, which 0.2.2 needs there.
        held=lambda job: ("cp",),
        environment=_torchtitan_on_cpu,
    ),
    "deepspeed": Framework(
        needs=lambda job: ("torch", "deepspeed"),
        install=lambda job: "pip install torch numpy deepspeed==0.19.8",
        settings=_deepspeed,
        step=re.compile(r"step (\d+)/\d+ \| loss ([\d.]+|nan)"),
    ),
    "megatron": Framework(
        needs=lambda job: ("torch",),
        install=lambda job: "pip install torch, and set MEGATRON_ROOT to a checkout of Megatron-LM",
        settings=_megatron,
        step=re.compile(r"iteration +(\d+)/.*lm loss: ([\d.E+-]+|nan)"),
        refuses=_megatron_refuses,
    ),
}
