"""The job's output goes to a folder that only the script itself creates.

Why:
SLURM opens the output before the script runs. If the folder is not there the job fails and leaves no log at
all. It is a hint where the script's usage says to make the folder first, and of a folder that does not hang
on the checkout (`/fsx/logs`): that one is missing once. Nothing is said where a page (`*.md`) beside the
script or above it says to make the folder or starts the script by bash, or a script there makes it and then
submits this one.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --output=logs/%j.out
mkdir -p logs
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --output=%x-%j.out
srun python train.py
"""

import os
import re
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR647"
TITLE = "output in a folder that the script creates"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8: Could not open stdout file"
FILE = "job.sbatch"


#: `sbatch "$0"`: the script that sbatch runs finds what was made before.
_ITSELF = r"^(?>.*?\bsbatch\b).*(?:\$\{?0\b|\$\{?BASH_SOURCE)"


def _submits_itself(batch: Batch, made: int) -> bool:
    """Whether the folder is made outside of the job, by a script that then submits itself."""
    return any(number >= made for number, _ in batch.commands(_ITSELF))


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for given, folder in batch.output_folders("output"):
            plain = re.escape(folder.removeprefix("./"))
            made = batch.commands(
                rf"^(?>.*?\bmkdir\b).*(?<![\w/.-])(?:\./)?{plain}/?(?=[\s;\"']|$)"
            )
            if "%" in folder or not made or _submits_itself(batch, made[-1][0]):
                continue
            if launch.has_folder(folder, batch.path):
                continue
            related = (Related("created here", batch.place(made[0][0])),)
            message = f"SLURM opens {given.value} before the script creates {folder}"
            told = os.path.isabs(folder) or _told(batch, plain)
            severity: Severity | None = "info" if told else None
            help_text = "create the folder before sbatch"
            yield Complaint(message, given.place, related, help_text, severity)


def _told(batch: Batch, folder: str) -> bool:
    """Whether a comment tells who submits the script to make the folder."""
    makes = re.compile(rf"\s*#(?>.*?\bmkdir\b).*(?<![\w/.-])(?:\./)?{folder}(?![\w-])")
    return any(makes.match(line) for line in batch.lines)
