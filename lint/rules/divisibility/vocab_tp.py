"""A padded vocabulary that is given outright must be a multiple of tp: tensor parallelism divides the
embedding.

Why:
Megatron-LM pads by itself, to a multiple of 128 tp, unless the padded size is given; one that does not
divide stops it, and a checkpoint padded for another tp does not load.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --tensor-model-parallel-size 4 --padded-vocab-size 151669

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --tensor-model-parallel-size 4 --padded-vocab-size 152064
"""

from collections.abc import Iterator

from ....reading.facts import number_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR114"
TITLE = "the padded vocabulary is not a multiple of tp"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = "NVIDIA-NeMo/Megatron-Bridge#1331"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    tp, at = launch.number("tp"), launch.option("--padded-vocab-size")
    size = number_of(at)
    if tp is None or at is None or size is None or tp < 2 or size % tp == 0:
        return
    related = (Related(f"tp {tp}", launch.facts["tp"]),)
    nearest = -(-size // (128 * tp)) * 128 * tp
    message = f"vocabulary {size} is not a multiple of tp {tp}"
    yield Complaint(message, at, related, f"pad it to {nearest}, a multiple of 128 * {tp}")
