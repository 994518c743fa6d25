"""Tasks of an array that write their checkpoints into one folder.

Why:
They run at the same time: each overwrites what another has written, and one that starts later goes on from
another's weights. Tasks that follow one another, as with `%1`, are one training in parts.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --array=0-3
srun torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --train-iters 100000 --seed "$SLURM_ARRAY_TASK_ID" \\
    --save /shared/run --load /shared/run --save-interval 500

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --array=0-3
RUN=/shared/run-$SLURM_ARRAY_TASK_ID
srun torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --train-iters 100000 --seed "$SLURM_ARRAY_TASK_ID" \\
    --save "$RUN" --load "$RUN" --save-interval 500
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.lasting import kept_by, moves
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR677"
TITLE = "tasks of an array with one folder for checkpoints"
SEVERITY = "warning"
SOURCE = "sbatch(1), --array; NVIDIA/Megatron-LM@d98e8a64 megatron/training/checkpointing.py:378"
SINCE = "2026-12"
TRAINING = True
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    kept = kept_by(launch.config)
    if kept is None or not kept.saves or kept.folder is None or kept.path is None:
        return
    for batch in batches(launch):
        array = batch.get("array")
        if array is None or not _several(array.value or ""):
            continue
        # A relative folder may lie below one that the task's number names.
        if kept.path.startswith("/") or not moves(launch.config):
            message = f"all tasks of {array.value} write their checkpoints to {kept.path}"
            related = (Related("the tasks", array.place),)
            yield Complaint(message, kept.folder, related, "a folder with $SLURM_ARRAY_TASK_ID")


def _several(tasks: str) -> bool:
    """Whether tasks run at the same time: more than one number, and no `%1` behind them."""
    numbers, _, at_once = tasks.partition("%")
    return at_once != "1" and any(mark in numbers for mark in ",-")
