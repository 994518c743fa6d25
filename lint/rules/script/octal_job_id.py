"""The last digits of a job's number inside `$(( ))`: with a leading zero they are an octal number.

Why:
"10000 + 0099: value too great for base": the script fails for some jobs and works for others.

Bad:
#!/bin/bash
#SBATCH --nodes=1
MASTER_PORT=$((10000 + ${SLURM_JOB_ID: -4}))
echo "$MASTER_PORT"

Good:
#!/bin/bash
#SBATCH --nodes=1
MASTER_PORT=$((10000 + SLURM_JOB_ID % 10000))
echo "$MASTER_PORT"
"""

import re
from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR643"
TITLE = "digits of a job's number taken for an octal number"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


_OCTAL = re.compile(
    r"\$\(\((?!.{0,200}10#)[^)$]*+(?:\$\w++[^)$]*+)?(?:\$\{SLURM_JOB_?ID: -\d{1,9}\}"
    r"|\$\([^)]{0,100}SLURM_JOB_?ID[^)]{0,100}(?:tail\s{1,9}-c|cut\b)[^)]{0,100}\))"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for path, number, line in launch.lines():
        match = _OCTAL.search(line)
        if match and not line.lstrip().startswith("#"):
            place = Place(path, number, match.start() + 1, len(match[0]))
            message = "digits with a leading zero are octal inside $(( ))"
            yield Complaint(message, place, help="$((10000 + SLURM_JOB_ID % 10000))")
