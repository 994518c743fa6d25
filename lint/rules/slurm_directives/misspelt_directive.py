"""A comment that looks like a directive and is none: `# SBATCH`, `#sbatch`, `#Sbatch`.

Why:
SLURM wants `#SBATCH` at the start of the line, in capitals. Anything else is a comment, and the option is
not set. `##SBATCH` is how people switch a directive off; it is not reported, nor is a call of sbatch in a
comment that says how the script is used.

Bad:
#!/bin/bash
#SBATCH --job-name=train
# SBATCH --nodes=2
srun hostname

Good:
#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=2
srun hostname
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR632"
TITLE = "a comment that looks like a directive"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8; ACEsuite/mace#435"
FILE = "job.sbatch"


_ALMOST = re.compile(r"\s*#\s*(?i:sbatch)\s+--?[a-zA-Z]")


#: Usage text: small letters, and a file behind the options, a placeholder among them or another line.
_CALL = re.compile(
    r"\s*#\s*sbatch\s.*?(?:\s[\w./${}-]+\.\w+\b|\s\$0\b|<\w|\s[\w-]+=[A-Z]\b|\\\s*$)"
)


def _call(line: str) -> bool:
    return _CALL.match(line) is not None


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for number, line in enumerate(batch.lines[: batch.first_command - 1], 1):
            if _ALMOST.match(line) and not line.startswith("#SBATCH") and not _call(line):
                message = "SLURM takes this for a comment"
                yield Complaint(
                    message, batch.place(number), help="write #SBATCH at the line's start"
                )
