"""A head size that is no multiple of 8.

Why:
Tensor cores take sides in multiples of 8; other sizes are padded or run on slower kernels, and fused
attention may refuse them.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 64 --hidden-size 11600 --num-attention-heads 80

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 64 --hidden-size 10240 --num-attention-heads 80
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import LATENT
from ....backends.megatron.option_rows import ROWS
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR701"
TITLE = "a head size that is not a multiple of 8"
SEVERITY = "info"
SOURCE = "NVIDIA, Matrix Multiplication Background, Tensor Core requirements"
TRAINING = True
FILE = "train.sh"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    hidden, heads = launch.number("hidden"), launch.number("heads")
    channels = launch.option(ROWS.setting("model", "head_dim").name)
    if channels is not None or launch.generated or not hidden or not heads or hidden % heads:
        return
    if launch.given(LATENT) or (hidden // heads) % 8 == 0:
        return
    related = (Related(f"heads {heads}", launch.facts["heads"]),)
    message = f"head size {hidden} / {heads} = {hidden // heads} is not a multiple of 8"
    yield Complaint(message, launch.facts["hidden"], related)
