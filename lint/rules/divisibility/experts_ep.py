"""Expert parallelism gives every rank the same number of experts, so ep must divide the experts.

Why:
Megatron-LM stops at start; torchtitan fails late, in a device mesh, with a message about sizes.

Bad:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --num-experts 60 \\
    --expert-model-parallel-size 8

Good:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --num-experts 64 \\
    --expert-model-parallel-size 8
"""

from collections.abc import Iterator

from ....backends.megatron.option_rows import ROWS
from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR115"
TITLE = "experts are not a multiple of ep"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1656; pytorch/torchtitan#4258"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    listed = launch.option(ROWS.fact("experts").name)
    if listed is None or len(listed.values) == 1:
        yield from enforced(CODE, launch, vary="ep")
