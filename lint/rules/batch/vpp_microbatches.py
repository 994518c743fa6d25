"""Interleaving deals micro-batches to the stages in rounds of pp, so there must be a multiple of pp of
them.

Why:
Megatron-LM accepts the arguments and fails in the first step.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 32 \\
    --num-layers-per-virtual-pipeline-stage 2 --micro-batch-size 1 --global-batch-size 12

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 32 \\
    --num-layers-per-virtual-pipeline-stage 2 --micro-batch-size 1 --global-batch-size 16
"""

from collections.abc import Iterator

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR203"
TITLE = "interleaving has too few or uneven micro-batches"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/pipeline_parallel/schedules.py:1160"
TRAINING = True


GROUP = "--microbatch-group-size-per-virtual-pipeline-stage"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if launch.given(GROUP):
        return
    yield from enforced(CODE, launch, cure=_batch)


def _batch(launch: LaunchedJob) -> str | None:
    pp, micro, dp = (launch.number(name) for name in ("pp", "micro_batch", "dp"))
    return f"a global batch in multiples of {pp * micro * dp}" if pp and micro and dp else None
