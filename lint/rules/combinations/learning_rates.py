"""The smallest learning rate cannot be above the largest.

Why:
Megatron-LM stops with a bare assertion.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --lr 1e-5 --min-lr 1e-4

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --lr 1e-4 --min-lr 1e-5
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import complaints

CODE = "PAR316"
TITLE = "the smallest learning rate is above the largest"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1360"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.framework == "megatron":
        yield from complaints("megatron", CODE, launch)
