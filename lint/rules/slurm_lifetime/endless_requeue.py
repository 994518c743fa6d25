"""A script that requeues itself without counting.

Why:
A job that fails at once is started again for ever. It is a hint where only a trap requeues and no --signal
asks SLURM for the signal: then a person sends it.

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

from ....dsl.diagnostics import Severity
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
            help_text = "compare $SLURM_RESTART_COUNT with a limit"
            trapped = all(line.lstrip().startswith("trap ") for _, line in again)
            severity: Severity | None = "info" if trapped and not batch.get("signal") else None
            yield Complaint(message, place, help=help_text, severity=severity)
