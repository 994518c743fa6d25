"""A script that requeues itself without counting.

Why:
A job that fails at once is started again for ever.

Bad:
#!/bin/bash
#SBATCH --open-mode=append
srun python train.py || scontrol requeue "$SLURM_JOB_ID"

Good:
#!/bin/bash
#SBATCH --open-mode=append
if ! srun python train.py && ((${SLURM_RESTART_COUNT:-0} < 3)); then
    scontrol requeue "$SLURM_JOB_ID"
fi
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR649"
TITLE = "a requeue without a limit"
SEVERITY = "warning"
SOURCE = "mila-iqia/mila-docs#415"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        again = batch.commands(r"\bscontrol\s+requeue\b")
        if again and "SLURM_RESTART_COUNT" not in batch.text:
            message = "the job requeues itself without a limit"
            place = batch.place(again[0][0], r"\bscontrol\s+requeue")
            yield Complaint(message, place, help="compare $SLURM_RESTART_COUNT with a limit")
