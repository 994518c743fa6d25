"""srun waits for the other tasks when one has failed, unless it is told to end them.

Why:
A rank that died leaves the others hanging in a collective until the wall time. A failed task ended the step
at once with --kill-on-bad-exit=1.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
srun --kill-on-bad-exit=1 python train.py
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR645"
TITLE = "srun over several nodes without --kill-on-bad-exit"
SEVERITY = "info"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


_TRAINS = r"^(?>.*?\bsrun\b).*(?:\bpython|torchrun|\bdeepspeed\b|\bbash\b|\.sh\b|accelerate)"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        if (batch.number("nodes") or 1) < 2 or "SLURM_KILL_BAD_EXIT" in batch.text:
            continue
        for number, line in batch.commands(_TRAINS):
            if not re.search(r"--kill-on-bad-exit|\s-K\b|--wait\b|\s-W\s?\d", line):
                message = "srun waits for the others when a task has failed"
                yield Complaint(
                    message, batch.place(number, r"\bsrun\b"), help="--kill-on-bad-exit=1"
                )
                return
