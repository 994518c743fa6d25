"""--gpus-per-task without a number of tasks or of GPUs.

Why:
SLURM 22.05 takes it, 23.11 refuses it: "--gpus-per-task or --tres-per-task used without either --gpus or
-n/--ntasks is not allowed".

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-task=8
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks=2
#SBATCH --gpus-per-task=8
srun python train.py
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR637"
TITLE = "--gpus-per-task without a number of tasks"
SEVERITY = "warning"
SOURCE = "pytorch/torchx#1100"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("gpus-per-task", "tres-per-task")
        if given and not batch.get("ntasks", "gpus", "ntasks-per-node"):
            message = f"--{given.name} without --ntasks or --gpus is refused by SLURM 23.11"
            yield Complaint(message, given.place, help="add --ntasks")
