"""A job that is started again overwrites the log of its first attempt.

Why:
The reason of the failure is in that log. --open-mode=append keeps both.

Bad:
#!/bin/bash
#SBATCH --requeue
#SBATCH --output=train.out
srun python train.py

Good:
#!/bin/bash
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=train.out
srun python train.py
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR648"
TITLE = "a requeued job that overwrites its log"
SEVERITY = "info"
SOURCE = "measured with SLURM 22.05.8; NVIDIA/pyxis#129"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("requeue")
        if given and batch.value("open-mode") != "append":
            message = "a restart overwrites the log of the attempt before"
            yield Complaint(message, given.place, help="#SBATCH --open-mode=append")
