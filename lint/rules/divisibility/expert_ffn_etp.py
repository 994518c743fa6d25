"""Expert tensor parallelism divides the width of each expert, so etp must divide it.

Why:
No option parser checks it: Megatron-LM fails while it builds the model.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --sequence-parallel \\
    --num-layers 32 \\
    --hidden-size 4096 \\
    --disable-bias-linear --num-experts 8 --moe-ffn-hidden-size 1410 --expert-tensor-parallel-size 4

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --sequence-parallel \\
    --num-layers 32 \\
    --hidden-size 4096 \\
    --disable-bias-linear --num-experts 8 --moe-ffn-hidden-size 1408 --expert-tensor-parallel-size 4
"""

from collections.abc import Iterator

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR117"
TITLE = "the width of an expert is not a multiple of etp"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/utils.py:592"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if launch.number("experts") and not launch.kind.involves("deepspeed"):
        yield from enforced(CODE, launch, vary="etp")
