"""--export=NONE leaves the step without an environment, unless srun is told otherwise.

Why:
The step fails with "execve(): bash: No such file or directory".

Bad:
#!/bin/bash
#SBATCH --export=NONE
srun python train.py

Good:
#!/bin/bash
#SBATCH --export=NONE
srun --export=ALL python train.py
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR654"
TITLE = "--export=NONE and a step without an environment"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("export")
        if given is None or given.value != "NONE" or "SLURM_EXPORT_ENV" in batch.text:
            continue
        for number, line in batch.commands(r"\bsrun\b"):
            if "--export" not in line:
                related = (Related("--export=NONE", given.place),)
                message = "the step has no environment"
                yield Complaint(
                    message, batch.place(number, r"\bsrun\b"), related, "srun --export=ALL"
                )
