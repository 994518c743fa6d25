"""Megatron-LM in `parc smoke`: what it needs, its settings for a small run, and its log line of a step."""

import os
import re
import struct
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...dsl.job import Job
from ...dsl.settings import Data
from ..capability import capability
from ..observation import QUIET
from ..smoke_run import Interpreter, SmokeRun
from ..smoke_text import LENGTH, TEXTS, write_tokens
from .data import names_data
from .on_cpu import CAPABILITY
from .options import Options, options_of
from .stack import fused_loss

#: In the user's environment: a checkout of Megatron-LM.
ROOT = "MEGATRON_ROOT"
PACKAGES = ("torch", "numpy", "psutil", "einops")
#: Settings of kernels that only GPUs have.
ON_CPU = {
    "loss_kernel": "eager",
    "fp8_recipe": "delayed",
    "cuda_graph": False,
    "dispatcher": "alltoall",
    "cp_comm": None,
    "moment_dtype": "fp32",
}
#: How Megatron-LM's index says that ids have 16 bits.
UINT16 = 8


def settings(job: Job, folder: Path, gpus: bool) -> Options:
    options = options_of(job)
    documents = folder / "documents"
    write_documents(documents)
    changed: dict[str, object] = {
        "path": os.environ.get(ROOT, options.path),
        "data": Data(parts=((str(documents), 1.0),)),
        "train_data": None,
        "valid_data": None,
        "test_data": None,
        "sft": False,
        "prompt_format": "default",
        "split": "1,0,0",
        "tokenizer": None,
        "checkpoints": str(folder / "checkpoints"),
        **QUIET,
        "extra": {name: value for name, value in options.extra.items() if not names_data(name)},
        # FlashAttention takes no heads as small as these.
        "attention_kernel": "cudnn",
    }
    if not gpus:
        changed |= ON_CPU
    return options.model_copy(update=changed)


def write_documents(prefix: Path) -> None:
    """`prefix`.bin and .idx, as Megatron-LM's indexed_dataset.py reads them: 16-bit token ids, their
    documents' lengths and where each begins."""
    write_tokens(prefix.with_suffix(".bin"))
    lengths = array("i", [LENGTH] * TEXTS)
    begins = array("q", range(0, 2 * LENGTH * TEXTS, 2 * LENGTH))
    documents = array("q", range(TEXTS + 1))
    head = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, UINT16, TEXTS, TEXTS + 1)
    arrays = (lengths, begins, documents)
    prefix.with_suffix(".idx").write_bytes(head + b"".join(each.tobytes() for each in arrays))


def refuses(job: Job, interpreter: Interpreter) -> str | None:
    root = os.environ.get(ROOT)
    if not root:
        return f"{ROOT} is not set: training needs pretrain_gpt.py of a checkout of Megatron-LM"
    if not Path(root, "pretrain_gpt.py").is_file():
        return f"{ROOT}={root} has no pretrain_gpt.py"
    return None


def replaced(job: Job) -> Iterator[str]:
    yield "Transformer Engine and apex: Megatron-LM's modules in PyTorch ran, experts one after another"
    yield "attention kernels: dense attention with the same mask ran; over cp all keys were gathered"
    yield "checkpoints of zero 2 and 3 (fsdp_dtensor): none was written"
    options = options_of(job)
    if fused_loss(job):
        yield "the fused loss: its steps ran one after another"
    if options.cuda_graph:
        yield "the CUDA graph: kernels were launched one by one"


def environment(job: Job, folder: Path) -> Mapping[str, str]:
    """Checks of the GPU's generation are answered as the job's GPUs would."""
    return {CAPABILITY: str(capability(job))}


SMOKE = SmokeRun(
    packages=(*PACKAGES, "megatron-core"),
    needs=lambda job: PACKAGES,
    install=lambda job: f"pip install {' '.join(PACKAGES)}; {ROOT} names a checkout of Megatron-LM",
    settings=settings,
    # core/optimizer/cpu_offloading/hybrid_optimizer.py:226 moves what is on a GPU.
    held=lambda job: ("offload",),
    step=re.compile(r"iteration +(\d{1,15})/.{0,500}?lm loss: ([\d.E+-]+|nan)"),
    variables=frozenset({
        "MEGATRON_PATH", "DATA_PATH", "DATA_CACHE", "TOKENIZER", "CHECKPOINT_DIR", "TENSORBOARD_DIR",
    }),
    refuses=refuses,
    replaced=replaced,
    leaves=lambda layout: layout.zero < 2,
    environment=environment,
    stand_ins={"megatron.core": Path(__file__).with_name("on_cpu.py")},
)  # fmt: skip
