"""A token cannot visit more experts than there are.

Why:
Megatron-LM accepts the arguments; `torch.topk` fails in the first step.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-experts 8 \\
    --moe-router-topk 16

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-experts 16 \\
    --moe-router-topk 8
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import complaints

CODE = "PAR317"
TITLE = "a token visits more experts than there are"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/transformer/moe/moe_utils.py, topk_routing"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.framework == "megatron":
        yield from complaints("megatron", CODE, launch)
