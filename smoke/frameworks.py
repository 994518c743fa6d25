"""What each framework needs to train a shrunken job here, and how its log tells of a step."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..backends.capability import capability
from ..backends.deepspeed.options import hugging_face
from ..backends.deepspeed.options import options_of as deepspeed_options
from ..backends.megatron.options import Options as MegatronOptions
from ..backends.torchtitan.options import options_of as torchtitan_options
from ..backends.torchtitan.releases import release
from ..dsl.job import Job
from .assets import write_documents, write_text, write_tokens
from .interpreter import Interpreter

Extra = dict[str, str | int | float | bool]

#: Settings of `extra` that only a GPU can do.
GPU_ALONE = frozenset({
    "parallelism.enable_async_tensor_parallel", "parallelism.expert_parallel_comm_backend",
    "zero_optimization.zero_quantized_weights", "zero_optimization.zero_quantized_gradients",
    "zero_optimization.zero_quantized_nontrainable_weights",
})  # fmt: skip
#: torchtitan's settings that keep a run small and its log plain.
PLAIN: Extra = {
    "metrics.disable_color_printing": True,
    "metrics.enable_tensorboard": False,
    "metrics.enable_wandb": False,
}
#: What each release does otherwise without a GPU. 0.3.0's own SPMD backend and its calls of pipelines need a
#: PyTorch later than 2.13.
ON_CPU: dict[str, Extra] = {
    "0.2.2": {"optimizer.implementation": "for-loop"},
    "0.3": {
        "optimizer.implementation": "for-loop",
        "parallelism.spmd_backend": "partial_dtensor",
        "training.disable_cuda_graphs": True,
        "debug.enable_structured_logging": False,
    },
}


@dataclass(frozen=True)
class Framework:
    """`step` finds number and loss in a log line. Without a GPU the degrees `held` stay 1, and `replaced` is
    what else runs than the job asks for."""

    needs: Callable[[Job], tuple[str, ...]]
    install: Callable[[Job], str]
    settings: Callable[[Job, Path, bool], Any]
    step: re.Pattern[str]
    held: Callable[[Job], Collection[str]] = field(default=lambda job: ())
    replaced: Callable[[Job], Iterator[str]] = field(default=lambda job: iter(()))
    environment: Callable[[Job, Path], Mapping[str, str]] = field(default=lambda job, folder: {})
    refuses: Callable[[Job, Interpreter], str | None] = field(default=lambda job, python: None)


def without_gpu_settings(extra: Mapping[str, Any], gpus: bool) -> Extra:
    return {key: value for key, value in extra.items() if gpus or key not in GPU_ALONE}


def _torchtitan(job: Job, folder: Path, gpus: bool) -> Any:
    write_text(folder)
    options = torchtitan_options(job)
    extra = (
        without_gpu_settings(options.extra, gpus)
        | PLAIN
        | ({} if gpus else ON_CPU[options.version])
    )
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
    tokens = folder / "tokens.bin"
    write_tokens(tokens)
    options = deepspeed_options(job)
    changed = {
        "adam": options.adam if gpus else "torch",
        "data": str(tokens),
        "data_dtype": "uint16",
        "save": str(folder / "checkpoints"),
        "log_interval": 1,
        "extra": without_gpu_settings(options.extra, gpus),
    }
    return options.model_copy(update=changed)


def _megatron(job: Job, folder: Path, gpus: bool) -> Any:
    given = job.options("megatron")
    options = given if isinstance(given, MegatronOptions) else MegatronOptions()
    documents = folder / "documents"
    write_documents(documents)
    changed = {
        "path": os.environ.get("MEGATRON_ROOT", options.path),
        "data": str(documents),
        "split": "1,0,0",
        "tokenizer": None,
        "checkpoints": str(folder / "checkpoints"),
        "log_interval": 1,
        "eval_iters": 0,
        "tensorboard": None,
        "wandb": None,
    }
    return options.model_copy(update=changed)


def _megatron_refuses(job: Job, interpreter: Interpreter) -> str | None:
    root = os.environ.get("MEGATRON_ROOT")
    if not root:
        return (
            "MEGATRON_ROOT is not set: training needs pretrain_gpt.py of a checkout of Megatron-LM"
        )
    if not Path(root, "pretrain_gpt.py").is_file():
        return f"MEGATRON_ROOT={root} has no pretrain_gpt.py"
    return None


def _torchtitan_replaced(job: Job) -> Iterator[str]:
    yield "the fused AdamW kernel: a loop over the parameters ran"
    if torchtitan_options(job).version != "0.2.2":
        yield "FlexAttention and CUDA graphs: dense attention with the same mask ran"
        yield "spmd_backend spmd_types: partial_dtensor ran"


def _deepspeed_replaced(job: Job) -> Iterator[str]:
    if deepspeed_options(job).adam == "fused":
        yield "DeepSpeed's Adam kernel: PyTorch's ran unless states were offloaded"


def _megatron_replaced(job: Job) -> Iterator[str]:
    yield "Transformer Engine and apex: Megatron-LM's modules in PyTorch ran, experts one after another"
    yield "attention kernels: dense attention with the same mask ran; over cp all keys were gathered"
    yield "checkpoints of zero 2 and 3 (fsdp_dtensor): none was written"


def _torchtitan_refuses(job: Job, interpreter: Interpreter) -> str | None:
    """The releases read configurations of different kinds."""
    wanted, found = release(job).name, interpreter.packages["torchtitan"]
    if wanted.rpartition(".")[0] == found.rpartition(".")[0]:
        return None
    return f"{interpreter.path} has torchtitan {found}, and the job is for {wanted}"


def _torchtitan_on_cpu(job: Job, folder: Path) -> Mapping[str, str]:
    """Its stand-ins, and a Hugging Face cache that goes with the folder."""
    return {
        "PYTHONPATH": str(Path(__file__).with_name("on_cpu")),
        "TORCHDYNAMO_DISABLE": "1",
        "HF_HOME": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


def _megatron_on_cpu(job: Job, folder: Path) -> Mapping[str, str]:
    """Its stand-ins, which answer checks as the job's GPUs would."""
    return {
        "PYTHONPATH": str(Path(__file__).with_name("on_cpu")),
        "TORCHDYNAMO_DISABLE": "1",
        "PARC_SMOKE_CAPABILITY": str(capability(job)),
    }


FRAMEWORKS: dict[str, Framework] = {
    "torchtitan": Framework(
        needs=lambda job: ("torch", "torchtitan"),
        install=lambda job: f"pip install torch torchtitan=={release(job).name}",
        settings=_torchtitan,
        step=re.compile(r"step: +(\d+) +loss: +(\d[\d.]*|nan)"),
        # PyTorch has no sharding rule for the attention of CPUs, which 0.2.2 needs there.
        held=lambda job: ("cp",) if torchtitan_options(job).version == "0.2.2" else (),
        replaced=_torchtitan_replaced,
        environment=_torchtitan_on_cpu,
        refuses=_torchtitan_refuses,
    ),
    "deepspeed": Framework(
        needs=lambda job: (
            ("torch", "deepspeed", "transformers") if hugging_face(job) else ("torch", "deepspeed")
        ),
        install=lambda job: (
            "pip install torch numpy deepspeed==0.19.8"
            + (" transformers" if hugging_face(job) else "")
        ),
        settings=_deepspeed,
        replaced=_deepspeed_replaced,
        step=re.compile(r"step (\d+)/\d+ \| loss ([\d.]+|nan)"),
    ),
    "megatron": Framework(
        needs=lambda job: ("torch", "numpy", "psutil", "einops"),
        install=lambda job: (
            "pip install torch numpy psutil einops; MEGATRON_ROOT names a checkout of Megatron-LM"
        ),
        settings=_megatron,
        step=re.compile(r"iteration +(\d+)/.*lm loss: ([\d.E+-]+|nan)"),
        replaced=_megatron_replaced,
        environment=_megatron_on_cpu,
        refuses=_megatron_refuses,
    ),
}
