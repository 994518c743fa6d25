"""--exclusive takes a whole node, but its GPUs only when they are asked for.

Why:
Where SLURM manages GPUs, the steps of the job see none: CUDA_VISIBLE_DEVICES and SLURM_GPUS_ON_NODE are
unset.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --exclusive
srun torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --exclusive
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR641"
TITLE = "whole nodes without their GPUs"
SEVERITY = "info"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


REQUESTS = (
    "gpus-per-node",
    "gres",
    "gpus",
    "gpus-per-task",
    "tres-per-task",
    "gpus-per-socket",
    "tres-per-node",
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        whole = batch.get("exclusive")
        if (
            whole
            and not batch.get(*REQUESTS)
            and not batch.commands(r"^(?>.*?\bsrun\b).*--(?:gpus|gres)")
        ):
            message = "--exclusive without a GPU request: steps may see no GPU"
            yield Complaint(message, whole.place, help="--gpus-per-node or --gres=gpu:")
