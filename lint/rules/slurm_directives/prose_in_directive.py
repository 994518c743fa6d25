"""Words in a directive that are neither an option nor its value. A comment behind `#` is allowed.

Why:
SLURM refuses the script: "Invalid directive found in batch script".

Bad:
#!/bin/bash
#SBATCH --nodes=2 two nodes
srun hostname

Good:
#!/bin/bash
#SBATCH --nodes=2  # two nodes
srun hostname
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts.batch import LONG, SWITCHES, batches, words_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR634"
TITLE = "words in a directive that are no option"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for number, line in enumerate(batch.lines[: batch.first_command - 1], 1):
            match = re.match(r"#SBATCH\s+(-.*)", line)
            extra = _extra(words_of(match[1])) if match else None
            if extra:
                place = batch.place(number, re.escape(extra))
                yield Complaint(f"`{extra}` is no option", place, help="put a # before the remark")


def _extra(words: list[str]) -> str | None:
    """The first word that belongs to no option."""
    value_may_follow = False
    for word in words:
        if word.startswith("-"):
            name = word.lstrip("-").partition("=")[0]
            short = not word.startswith("--")
            long_name = LONG.get(name[:1], "") if short else name
            complete = "=" in word or (short and len(word) > 2) or long_name in SWITCHES
            value_may_follow = not complete
        elif value_may_follow:
            value_may_follow = False
        else:
            return word
    return None
