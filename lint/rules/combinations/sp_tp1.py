"""Sequence parallelism divides what tensor parallelism leaves whole, so with tp 1 it does nothing.

Why:
Megatron-LM switches it off with a warning, and some wrappers fail. The flag misleads whoever reads the
script.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --tensor-model-parallel-size 1 --sequence-parallel

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --tensor-model-parallel-size 1
"""

from collections.abc import Iterator

from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR301"
TITLE = "sequence parallelism with tp 1"
SEVERITY = "info"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1436"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at, tp = launch.option("--sequence-parallel"), launch.number("tp")
    if launch.framework == "megatron" and at is not None and tp == 1 and text_of(at) != "False":
        related = (Related("tp 1", launch.facts["tp"]),)
        yield Complaint("--sequence-parallel does nothing with tp 1", at, related, "drop the flag")
