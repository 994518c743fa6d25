"""Tensor parallelism gives every rank the same number of attention heads, so tp must divide the heads.

Why:
Megatron-LM stops at start, torchtitan in the first forward pass, others build a wrong model.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 60 \\
    --hidden-size 6656 --num-attention-heads 52 --kv-channels 128

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --num-layers 60 \\
    --hidden-size 6656 --num-attention-heads 52 --kv-channels 128
"""

from collections.abc import Iterator

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR111"
TITLE = "heads are not a multiple of tp"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/transformer/transformer_config.py:1446"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    yield from enforced(CODE, launch, vary="tp")
