"""More steps to a checkpoint than a start has time for.

Why:
The wall time ends each start before its first checkpoint, and the next one begins where this one did. The
step is predicted for the job of `--spec`, or on `--cluster` where the files say the whole model; else it is
the shortest that the model's arithmetic allows at the peak rate of its GPUs, those that SLURM is asked for or
the fastest of the standard library. Nothing is said where a signal has a checkpoint written before the end,
and of a wall time below an hour, which is a trial's.

Bad:
#!/bin/bash
#SBATCH --nodes=8
#SBATCH --gpus-per-node=h100:8
#SBATCH --time=12:00:00
export CUDA_DEVICE_MAX_CONNECTIONS=1
MASTER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --kill-on-bad-exit=1 torchrun --nnodes 8 --nproc-per-node 8 --rdzv-backend c10d \\
    --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "$MASTER:29400" pretrain_gpt.py \\
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --sequence-parallel \\
    --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --swiglu --num-attention-heads 64 \\
    --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 \\
    --micro-batch-size 1 --global-batch-size 1024 --train-iters 100000 --lr 1e-4 --bf16 \\
    --save /shared/run --load /shared/run --save-interval 1000

Good:
#!/bin/bash
#SBATCH --nodes=8
#SBATCH --gpus-per-node=h100:8
#SBATCH --time=12:00:00
export CUDA_DEVICE_MAX_CONNECTIONS=1
MASTER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --kill-on-bad-exit=1 torchrun --nnodes 8 --nproc-per-node 8 --rdzv-backend c10d \\
    --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "$MASTER:29400" pretrain_gpt.py \\
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --sequence-parallel \\
    --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --swiglu --num-attention-heads 64 \\
    --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 \\
    --micro-batch-size 1 --global-batch-size 1024 --train-iters 100000 --lr 1e-4 --bf16 \\
    --save /shared/run --load /shared/run --save-interval 100
"""

from collections.abc import Iterator

from ....backends.kept import Kept
from ....backends.slurm.read import seconds_from
from ....dsl.diagnostics import Severity
from ...facts.batch import Batch, batches
from ...facts.lasting import kept_by, restart
from ...facts.launched_job import LaunchedJob
from ...facts.signals import reaching, wall_signal
from ...finding import Complaint, Related
from ...least_step import step_time

CODE = "PAR672"
TITLE = "a checkpoint interval over the wall time"
SEVERITY = "warning"
SOURCE = (
    "sbatch(1), --time; Narayanan et al. 2021 (arXiv 2104.04473, appendix) for the FLOP of a step"
)
SINCE = "2026-12"
TRAINING = True
FILE = "job.sbatch"

_HOUR = 3600
#: Checkpoints that a start should have time for.
_IN_A_START = 3


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    kept = kept_by(launch.config)
    if kept is None or not kept.saves or not kept.interval or kept.leaves_early:
        return
    for batch in batches(launch):
        limit = batch.get("time")
        seconds = seconds_from(limit.value or "") if limit else None
        if (
            limit is None
            or not seconds
            or seconds < _HOUR
            or _saved_at_the_end(launch, batch, kept)
        ):
            continue
        step = step_time(launch)
        first = min(kept.interval, kept.steps or kept.interval)
        if step is None or first * step.seconds <= seconds:
            return
        takes = f"{'' if step.predicted else 'at least '}{first * step.seconds / _HOUR:.1f} h"
        has = f"{seconds / _HOUR:.1f} h"
        message = f"{first:,} steps to the first checkpoint take {takes}, and a start has {has}"
        most = int(seconds / step.seconds / _IN_A_START)
        help_text = f"an interval of {most} steps or less" if most else "a longer --time"
        severity: Severity | None = "error" if restart(launch) else None
        related = (Related("the wall time", limit.place),)
        yield Complaint(message, kept.interval_at or limit.place, related, help_text, severity)


def _saved_at_the_end(launch: LaunchedJob, batch: Batch, kept: Kept) -> bool:
    """Whether a signal before the end has, or may have, a checkpoint written."""
    asked = wall_signal(batch)
    if asked is None:
        return False
    return kept.handles is None or bool(reaching(launch, batch, asked) & kept.handles)
