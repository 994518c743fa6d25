"""torchtitan in `parc smoke`: what it needs, its settings for a small run, and its log line of a step."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...dsl.job import Job
from ...dsl.settings import Data
from ..smoke_run import Extra, Interpreter, SmokeRun, without
from ..smoke_text import SPECIAL, TEXTS, VOCABULARY, words
from .models import family
from .options import Options, options_of
from .releases import release

#: Settings of `extra` that only a GPU can do.
GPU_ONLY = frozenset({"parallelism.expert_parallel_comm_backend"})
#: Kernels of attention that only GPUs have.
GPU_KERNELS = ("flex_flash", "varlen")
#: Settings that keep a run small and its log plain.
PLAIN: Extra = {
    "metrics.disable_color_printing": True,
    "metrics.enable_tensorboard": False,
    "metrics.enable_wandb": False,
}
#: What each release does otherwise without a GPU. 0.3.0's own SPMD backend and its calls of pipelines need a
#: PyTorch later than 2.13.
ON_CPU: dict[str, Extra] = {
    **dict.fromkeys(("0.2.0", "0.2.1", "0.2.2"), {"optimizer.implementation": "for-loop"}),
    "0.3": {
        "optimizer.implementation": "for-loop",
        "parallelism.spmd_backend": "partial_dtensor",
        "debug.enable_structured_logging": False,
    },
}


def settings(job: Job, folder: Path, gpus: bool) -> Options:
    write_text(folder)
    options = options_of(job)
    changed: dict[str, object] = {
        "data": small(options.data, folder / "data"),
        "validation": small(options.validation, folder / "data"),
        "hf_assets_path": str(folder / "tokenizer"),
        "dump_folder": str(folder / "outputs"),
        "log_interval": 1,
        "wandb": None,
        "extra": without(options.extra, GPU_ONLY, gpus)
        | PLAIN
        | ({} if gpus else ON_CPU[options.version]),
    }
    if options.validation is not None:
        changed |= {"eval_interval": 2, "eval_iters": min(1, options.eval_iters)}
    if not gpus:
        # PyTorch's profiler is asked for a GPU's activities (tools/profiling.py:68).
        changed |= {"profile_start": None, "profile_stop": None}
        changed |= {"tp_overlap": False, "fp8_recipe": "tensorwise"}
        changed |= {"cuda_graph": False if release(job).graphs else None}
        if options.attention_kernel in GPU_KERNELS:
            changed |= {"attention_kernel": None}
    return options.model_copy(update=changed)


def small(data: Data | None, folder: Path) -> Data | None:
    """The folder's texts in place of each source of the data."""
    if data is None:
        return None
    return Data(parts=tuple((str(folder), weight) for _, weight in data.parts))


def write_text(folder: Path, count: int = TEXTS) -> None:
    """`folder`/tokenizer and `folder`/data, of which every data-parallel rank reads texts of its own."""
    tokenizer, data = folder / "tokenizer", folder / "data"
    tokenizer.mkdir(parents=True)
    data.mkdir()
    (tokenizer / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    special = {"bos_token": "<bos>", "eos_token": "<eos>"}
    (tokenizer / "tokenizer_config.json").write_text(json.dumps(special))
    texts = (" ".join(f"w{word}" for word in words(seed)) for seed in range(count))
    lines = (json.dumps({"text": text}) for text in texts)
    (data / "data.json").write_text("\n".join(lines) + "\n")


def _tokenizer() -> dict[str, Any]:
    """A Hugging Face tokenizer for which every word between spaces is a token."""
    known = (*SPECIAL, *(f"w{number}" for number in range(VOCABULARY - len(SPECIAL))))
    vocabulary = {word: number for number, word in enumerate(known)}
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": SPECIAL[0]},
    }


def refuses(job: Job, interpreter: Interpreter) -> str | None:
    """A release knows other settings than the next one."""
    version, found = options_of(job).version, interpreter.packages["torchtitan"]
    if f"{found}.".startswith(f"{version}."):
        return None
    return f"{interpreter.path} has torchtitan {found}, and the job is for {release(job).name}"


def held(job: Job) -> tuple[str, ...]:
    """PyTorch has no sharding rule for the attention of CPUs, which 0.2 needs there."""
    return () if release(job).python else ("cp",)


def replaced(job: Job) -> Iterator[str]:
    yield "the fused AdamW kernel: a loop over the parameters ran"
    if family(job) == "gpt_oss":
        yield "FlexAttention: dense attention with the same mask ran"
    if options_of(job).tp_overlap:
        yield "tp_overlap: tensor-parallel traffic stood alone"
    if release(job).python:
        yield "FlexAttention and CUDA graphs: dense attention with the same mask ran"
        yield "spmd_backend spmd_types: partial_dtensor ran"


def environment(job: Job, folder: Path) -> Mapping[str, str]:
    """A Hugging Face cache that goes with the folder."""
    return {
        "HF_HOME": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


SMOKE = SmokeRun(
    packages=("torch", "torchtitan"),
    needs=lambda job: ("torch", "torchtitan"),
    install=lambda job: f"pip install torch torchtitan=={release(job).name}",
    settings=settings,
    step=re.compile(r"step: +(\d{1,15}) +loss: +(\d[\d.]*|nan)"),
    variables=frozenset({"DATASET_PATH", "HF_ASSETS_PATH", "DUMP_FOLDER", "WEIGHTS"}),
    refuses=refuses,
    held=held,
    replaced=replaced,
    environment=environment,
    stand_ins={"torchtitan": Path(__file__).with_name("on_cpu.py")},
)
