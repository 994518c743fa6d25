"""A sequence is cut into equal parts: by sequence parallelism into tp, by context parallelism into 2 cp.
Together it must be a multiple of cp * lcm(2, tp). torchtitan always wants a multiple of 2 cp tp.

Why:
Megatron-LM checks context parallelism at start and sequence parallelism only in the first step. It is a hint
where a torchtitan of one's own trains a model of the hub, whose samples it may pad.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --sequence-parallel \\
    --seq-length 4100 --num-attention-heads 32

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --sequence-parallel \\
    --seq-length 4096 --num-attention-heads 32
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from ....reading.facts import text_of
from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related, Skipped

CODE = "PAR131"
TITLE = "the sequence does not divide into its parts"
SEVERITY = "error"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/core/tensor_parallel/mappings.py:72, "
    "megatron/training/arguments.py:1336; NVIDIA-NeMo/RL#3563"
)


# A module, and no row: files have sequence parallelism by a switch, where the compiler's layouts decide it.
def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    for found in enforced(CODE, launch, adjust=_parts, cure=_nearest):
        own = isinstance(found, Complaint) and _model_of_ones_own(launch)
        yield replace(found, severity="info") if own and isinstance(found, Complaint) else found
    yield from _uneven_shares(launch)


def _model_of_ones_own(launch: LaunchedJob) -> bool:
    """Whether a fork of torchtitan trains a model of the hub, whose samples it may pad."""
    return launch.framework == "torchtitan" and "/" in (
        text_of(launch.setting("toml", "model.name")) or ""
    )


def _uneven_shares(launch: LaunchedJob) -> Iterator[Complaint]:
    """--sequence-parallel where tp does not divide the sequence: the compiler's layouts have none there."""
    length, tp = launch.facts.get("seq_len"), launch.number("tp") or 1
    if launch.framework != "megatron" or length is None or not isinstance(length.value, int):
        return
    if launch.value("sequence_parallel") and length.value % tp and not launch.number("experts"):
        message = (
            f"seq_len {length.value} is not a multiple of tp {tp}, as --sequence-parallel needs"
        )
        related = (Related(f"tp {tp}", launch.facts["tp"]),)
        help = f"{_nearest(launch)}, or no --sequence-parallel"
        yield Complaint(message, length, related, help)


def _parts(launch: LaunchedJob, name: str) -> int | None:
    """Without sequence parallelism Megatron-LM's tp leaves the sequence whole."""
    if name == "tp" and launch.framework == "megatron" and not launch.value("sequence_parallel"):
        return 1
    return None


def _nearest(launch: LaunchedJob) -> str | None:
    length, tp = launch.number("seq_len"), launch.number("tp") or 1
    cp = launch.number("cp") or 1
    if length is None:
        return None
    if _parts(launch, "tp") == 1:
        tp = 1
    step = (
        2 * cp * tp if launch.framework == "torchtitan" else cp * math.lcm(2 if cp > 1 else 1, tp)
    )
    return f"{-(-length // step) * step}, the next multiple of {step}"
