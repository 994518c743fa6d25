"""Experts with biases cannot be divided by expert tensor parallelism.

Why:
Megatron-LM refuses biases in experts unless etp is 1, and biases are its default.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \\
    --num-layers 32 \\
    --num-experts 8 --expert-tensor-parallel-size 2

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \\
    --num-layers 32 \\
    --num-experts 8 --expert-tensor-parallel-size 2 --disable-bias-linear
"""

from collections.abc import Iterator

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR119"
TITLE = "etp above 1 for experts with biases"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/transformer/transformer_config.py:2614"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if launch.number("experts") and launch.megatron:
        yield from enforced(CODE, launch)
