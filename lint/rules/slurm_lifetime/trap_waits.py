"""A trap runs only between commands: while srun runs in the foreground, the shell cannot answer the signal.

Why:
The trap ran when srun had ended, which is too late to save. srun in the background and `wait` let it run at
once.

Bad:
#!/bin/bash
#SBATCH --time=24:00:00
#SBATCH --signal=B:USR1@300
trap 'scancel --signal=TERM "$SLURM_JOB_ID"' USR1
srun python train.py

Good:
#!/bin/bash
#SBATCH --time=24:00:00
#SBATCH --signal=B:USR1@300
trap 'scancel --signal=TERM "$SLURM_JOB_ID"' USR1
srun python train.py &
wait
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related
from .signal_without_trap import signal_name, trapped

CODE = "PAR651"
TITLE = "a trap that cannot run while srun is in the foreground"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8: signal at 3 s, trap at 8 s"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("signal")
        name = signal_name(given.value or "") if given else None
        if given is None or name is None or not trapped(batch, name):
            continue
        steps = batch.commands(r"^\s*(?:\w+=\S*\s+)*srun\b")
        if steps and not any(re.search(r"&\s*$", line) for _, line in steps):
            related = (Related(f"the trap of {name} waits for it", given.place),)
            place = batch.place(steps[-1][0], r"\bsrun\b")
            message = "srun runs in the foreground, and the trap waits until it ends"
            yield Complaint(message, place, related, "srun ... & and wait")
