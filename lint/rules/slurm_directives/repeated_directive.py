"""An option of sbatch that takes a list stands in two directives.

Why:
The lists do not add up: the last directive counts, and what the others name is not there.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --export=ALL,MASTER_PORT=29500
#SBATCH --export=ALL,NCCL_DEBUG=WARN
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --export=ALL,MASTER_PORT=29500,NCCL_DEBUG=WARN
srun python train.py
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR665"
TITLE = "a list in two directives, of which the last counts"
SEVERITY = "warning"
SOURCE = "sbatch(1): the last of an option counts; ExaWorks/psij-python#445"
SINCE = "2026-12"
FILE = "job.sbatch"

#: Options whose value is a list that people extend. Those of --mail-type add up (slurm_opt.c: `|=`).
LISTS = ("export", "gres", "exclude", "nodelist", "licenses", "dependency")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        last = {name: batch.get(name) for name in LISTS}
        for each in batch.every:
            counts = last.get(each.name)
            if counts is None or each.value is None or each.place == counts.place:
                continue
            if each.value != counts.value:
                message = (
                    f"--{each.name}={each.value} does not count: a later --{each.name} replaces it"
                )
                related = (Related("this one counts", counts.place),)
                yield Complaint(message, each.place, related, "one directive with both")
