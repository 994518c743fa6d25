"""Tensor parallelism divides the width of the feed-forward block, so tp must divide it.

Why:
No option parser checks it: Megatron-LM fails while it builds the model, after all processes have started.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \\
    --hidden-size 4096 \\
    --num-attention-heads 32 --ffn-hidden-size 11004 --swiglu

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \\
    --hidden-size 4096 \\
    --num-attention-heads 32 --ffn-hidden-size 11008 --swiglu
"""

from collections.abc import Iterator

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR113"
TITLE = "a feed-forward width is not a multiple of tp"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/utils.py:592"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    yield from enforced(CODE, launch, vary="tp")
