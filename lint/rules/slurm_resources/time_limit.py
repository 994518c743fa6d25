"""A wall time that SLURM cannot read, or reads otherwise than it looks: `24:00` is 24 minutes.

Why:
Hours and minutes are written with seconds, 24:00:00. A job that should run a day ends after 24 minutes.
Where neither whole days nor a comment speaks of hours, minutes may be meant, and it is a hint.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --time=24:00
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --time=24:00:00
srun python train.py
"""

import re
from collections.abc import Iterator

from ....backends.slurm.read import seconds_from
from ....dsl.diagnostics import Severity
from ...facts.batch import Batch, Directive, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR656"
TITLE = "a wall time that SLURM reads as another one"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8: accepted as 24 minutes; sbatch(1), --time"
FILE = "job.sbatch"


_WORDS = ("infinite", "unlimited", "partition_limit")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("time")
        value = (given.value or "") if given else ""
        if given is None or not value or re.search(r"\$|\{\w+\}", value) or value.lower() in _WORDS:
            continue
        if seconds_from(value) is None:
            help_text = "days-hours:minutes:seconds"
            yield Complaint(f"`{value}` is not a time", given.place, help=help_text)
        elif match := re.fullmatch(r"(\d{1,9}):00", value):
            message = f"--time={value} is {match[1]} minutes"
            severity: Severity = "warning" if _meant_hours(batch, given, int(match[1])) else "info"
            help_text = f"{value}:00 is {match[1]} hours"
            yield Complaint(message, given.place, help=help_text, severity=severity)


def _meant_hours(batch: Batch, given: Directive, minutes: int) -> bool:
    """Whole days, or a comment of the line that speaks of hours; a test may well end after 10:00."""
    comment = batch.lines[given.place.line - 1].partition(given.value or "")[2]
    return minutes % 24 == 0 or bool(
        re.search(r"^(?>[^#]*#).*\b(?:h|hrs?|hours?)\b", comment, re.IGNORECASE)
    )
