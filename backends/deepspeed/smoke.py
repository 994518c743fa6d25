"""DeepSpeed in `parc smoke`: what it needs, its settings for a small run, and its log line of a step."""

import re
from collections.abc import Iterator
from pathlib import Path

from ...dsl.job import Job
from ...dsl.settings import Data
from ..smoke_run import SmokeRun, without
from ..smoke_text import write_tokens
from .options import Options, hugging_face, options_of

#: Settings of `extra` that only a GPU can do.
GPU_ONLY = frozenset({
    "zero_optimization.zero_quantized_weights", "zero_optimization.zero_quantized_gradients",
    "zero_optimization.zero_quantized_nontrainable_weights",
})  # fmt: skip


def needs(job: Job) -> tuple[str, ...]:
    return ("torch", "deepspeed", *(("transformers",) if hugging_face(job) else ()))


def install(job: Job) -> str:
    more = " transformers" if hugging_face(job) else ""
    return f"pip install torch numpy deepspeed==0.19.8{more}"


def settings(job: Job, folder: Path, gpus: bool) -> Options:
    """DeepSpeed's own Adam is a GPU kernel, whose stand-in for CPUs takes minutes to compile."""
    tokens = folder / "tokens.bin"
    write_tokens(tokens)
    options = options_of(job)
    changed = {
        "adam": options.adam if gpus else "torch",
        "data": Data(parts=((str(tokens), 1.0),)),
        "valid_data": _held_out(options, str(tokens)),
        "tensorboard": None,
        "wandb": None,
        "data_dtype": "uint16",
        "save": str(folder / "checkpoints"),
        "log_interval": 1,
        "extra": without(options.extra, GPU_ONLY, gpus),
    }
    return options.model_copy(update=changed)


def _held_out(options: Options, tokens: str) -> Data | None:
    """Data of the evaluation: the training text, None where the job does not evaluate."""
    return None if options.valid_data is None else Data(parts=((tokens, 1.0),))


def replaced(job: Job) -> Iterator[str]:
    if options_of(job).adam == "fused":
        yield "DeepSpeed's Adam kernel: PyTorch's ran unless states were offloaded"


SMOKE = SmokeRun(
    packages=("torch", "deepspeed", "transformers"),
    needs=needs,
    install=install,
    settings=settings,
    step=re.compile(r"step (\d{1,15})/\d+ \| loss ([\d.]+|nan)"),
    variables=frozenset({"DATA", "SAVE", "VALID_DATA", "WEIGHTS", "PROFILE", "TENSORBOARD"}),
    replaced=replaced,
)
