"""The position table must reach as far as the sequence: --max-position-embeddings at least --seq-length.

Why:
Megatron-LM stops at start.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --seq-length 8192 --max-position-embeddings 4096

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --seq-length 8192 --max-position-embeddings 8192
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import complaints

CODE = "PAR132"
TITLE = "the sequence is longer than the position table"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1354"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.framework == "megatron":
        yield from complaints("megatron", CODE, launch)
