"""A shell variable, or `~` for the home folder, in a directive.

Why:
SLURM reads directives itself, before any shell runs, so `$NODES` is taken literally and the job is refused.
`~` is a folder of that name below the one in which the job is submitted: the job ends as it starts, without
a log, or starts in /tmp. Patterns such as %j are meant for file names.

Bad:
#!/bin/bash
#SBATCH --nodes=$NODES
srun hostname

Good:
#!/bin/bash
#SBATCH --nodes=2
srun hostname
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR633"
TITLE = "a shell variable or ~ in a directive"
SEVERITY = "error"
SOURCE = 'measured with SLURM 22.05.8: "$NODES" is not a valid node count; StdOut=~/...'
FILE = "job.sbatch"

#: Directives whose value is a path that SLURM opens or changes to.
_PATHS = ("output", "error", "input", "chdir")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for directive in batch.directives.values():
            if "$" in (directive.value or ""):
                message = (
                    f"--{directive.name} {directive.value}: directives are not expanded by a shell"
                )
                help_text = f"write the value, or give it to sbatch: sbatch --{directive.name}=..."
                yield Complaint(message, directive.place, help=help_text)
            elif directive.name in _PATHS and re.match(r"~(/|$)", directive.value or ""):
                message = (
                    f"--{directive.name} {directive.value}: SLURM has no ~ for your home folder"
                )
                yield Complaint(message, directive.place, help="write the whole path")
