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
from collections.abc import Iterator, Sequence

from ....dsl.diagnostics import Severity
from ....reading.bash.trace import TracedCommand
from ...facts.batch import Batch, batches
from ...facts.commands import makes_folder, place_of, ran_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR647"
TITLE = "output in a folder that the script creates"
SEVERITY = "error"
STOPS = "itself"
SOURCE = "measured with SLURM 22.05.8: Could not open stdout file"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for given, folder in batch.output_folders("output"):
            plain = re.escape(folder.removeprefix("./"))
            ran = ran_by(launch, batch)
            made = [at for at, each in enumerate(ran) if makes_folder(each, folder)]
            if "%" in folder or not made or _submits_itself(ran[made[-1] :], batch):
                continue
            if launch.has_folder(folder, batch.path):
                continue
            first = ran[made[0]]
            related = (Related("created here", place_of(first.words[0], first)),)
            message = f"SLURM opens {given.value} before the script creates {folder}"
            told = os.path.isabs(folder) or _told(batch, plain)
            severity: Severity | None = "info" if told else None
            help_text = "create the folder before sbatch"
            yield Complaint(message, given.place, related, help_text, severity)


def _submits_itself(behind: Sequence[TracedCommand], batch: Batch) -> bool:
    """Whether the folder is made outside of the job, by a script that then submits itself."""
    submits = (each.words for each in behind if each.programs[-1] == "sbatch")
    return any(word.text == batch.path for words in submits for word in words)


def _told(batch: Batch, folder: str) -> bool:
    """Whether a comment tells who submits the script to make the folder."""
    makes = re.compile(rf"\s*#(?>.*?\bmkdir\b).*(?<![\w/.-])(?:\./)?{folder}(?![\w-])")
    return any(makes.match(line) for line in batch.lines)
