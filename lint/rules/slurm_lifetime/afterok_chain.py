"""A chain of jobs that continues only after success.

Why:
A job that reaches its time limit has not succeeded, nor has a launcher that was told to stop: the next one
waits for ever with DependencyNeverSatisfied. `singleton` or `afterany` go on.

Bad:
#!/bin/bash
#SBATCH --dependency=afterok:1234
#SBATCH --time=24:00:00
srun python train.py

Good:
#!/bin/bash
#SBATCH --dependency=singleton
#SBATCH --time=24:00:00
srun python train.py
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR658"
TITLE = "a chain of jobs that stops at a time limit"
SEVERITY = "info"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("dependency")
        if given and (given.value or "").startswith("afterok"):
            message = "afterok never starts after a time limit"
            yield Complaint(message, given.place, help="--dependency=singleton, or afterany")
