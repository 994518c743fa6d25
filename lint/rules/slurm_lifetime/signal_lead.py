"""The warning signal comes at or before the start of the job.

Why:
--signal=USR1@300 in a job of five minutes was sent at once, and ended it after seconds.

Bad:
#!/bin/bash
#SBATCH --time=00:05:00
#SBATCH --signal=USR1@300
srun python train.py

Good:
#!/bin/bash
#SBATCH --time=01:00:00
#SBATCH --signal=USR1@300
srun python train.py
"""

from collections.abc import Iterator

from ....backends.slurm.read import seconds_from
from ....reading.facts import whole
from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR653"
TITLE = "a warning signal as long as the job"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given, limit = batch.get("signal"), batch.get("time")
        lead = (given.value or "").rpartition("@")[2] if given else ""
        seconds = seconds_from(limit.value or "") if limit else None
        ahead = whole(lead)
        if given and limit and seconds and ahead is not None and ahead >= seconds:
            related = (Related(f"--time is {seconds} seconds", limit.place),)
            message = (
                f"the signal comes {lead} seconds before the end of a job of {seconds} seconds"
            )
            yield Complaint(message, given.place, related)
