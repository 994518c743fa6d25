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

#: What starts the same job again, under its own number and so with the same log.
_ITSELF = r"\bscontrol\s+requeue\b"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given, itself = batch.get("requeue"), batch.commands(_ITSELF)
        if batch.value("open-mode") == "append" or not (given or itself):
            continue
        place = given.place if given else batch.place(itself[0][0], _ITSELF)
        message = "a restart overwrites the log of the attempt before"
        yield Complaint(message, place, help="#SBATCH --open-mode=append")
