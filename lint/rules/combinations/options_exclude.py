"""Two options contradict each other.

Why:
Megatron-LM stops at start, some of these with a bare assertion that says nothing. Keys of a DeepSpeed config
and settings of torchtitan are options too.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 1000 --train-samples 100000

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 1000
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import of_frameworks

CODE = "PAR312"
TITLE = "two options that exclude each other"
SEVERITY = "error"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py, transformer_config.py; DeepSpeed 0.19.8 "
    "runtime/config.py; torchtitan 0.2.2 components/checkpoint.py: each row names its line"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from of_frameworks(CODE, launch, without=() if launch.megatron else ("megatron",))
