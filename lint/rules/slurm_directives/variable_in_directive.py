"""A shell variable in a directive.

Why:
SLURM reads directives itself, before any shell runs, so `$NODES` is taken literally and the job is refused.
Patterns such as %j are meant for file names.

Bad:
#!/bin/bash
#SBATCH --nodes=$NODES
srun hostname

Good:
#!/bin/bash
#SBATCH --nodes=2
srun hostname
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR633"
TITLE = "a shell variable in a directive"
SEVERITY = "error"
SOURCE = 'measured with SLURM 22.05.8: "$NODES" is not a valid node count'
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for directive in batch.directives.values():
            if "$" in (directive.value or ""):
                message = (
                    f"--{directive.name} {directive.value}: directives are not expanded by a shell"
                )
                help_text = f"write the value, or give it to sbatch: sbatch --{directive.name}=..."
                yield Complaint(message, directive.place, help=help_text)
