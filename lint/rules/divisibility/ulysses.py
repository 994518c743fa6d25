"""Ulysses gives every rank whole heads and an equal part of the sequence: the degree must divide the heads
and the sequence, and divide the key-value heads or be a multiple of them.

Why:
The all-to-all exchanges tensors of equal sizes; others fail in the first step or are cut.

Bad:
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 1536 \\
    --num-attention-heads 12 \\
    --seq-length 4096 --ds-sequence-parallel-size 8 --deepspeed

Good:
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 \\
    --num-attention-heads 16 \\
    --seq-length 4096 --ds-sequence-parallel-size 8 --deepspeed
"""

from collections.abc import Iterator
from dataclasses import replace

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related, Skipped

CODE = "PAR116"
TITLE = "Ulysses does not divide the heads, key-value heads or sequence evenly"
SEVERITY = "error"
STOPS = "deepspeed"
SOURCE = "deepspeedai/DeepSpeed#5177; arXiv 2309.14509, 3"


# A module, and no row: Megatron-DeepSpeed's jobs are judged by the predicate of DeepSpeed.
def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    degree = launch.number("ulysses")
    if degree is None or degree < 2:
        return
    at = launch.facts["ulysses"]
    yield from enforced(CODE, _as_deepspeed(launch))
    length = launch.number("seq_len")
    if length is not None and length % degree:
        related = (Related(f"seq_len {length}", launch.facts["seq_len"]),)
        message = f"seq_len {length} is not a multiple of Ulysses degree {degree}"
        yield Complaint(
            message, at, related, f"seq_len {-(-length // degree) * degree}, the next multiple"
        )


def _as_deepspeed(launch: LaunchedJob) -> LaunchedJob:
    """Megatron-DeepSpeed's script takes Ulysses from DeepSpeed, and so its predicate."""
    return replace(launch, config=replace(launch.config, framework="deepspeed"))
