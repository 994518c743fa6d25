"""The job's output, or its errors, goes to a folder that only the script itself creates, or that nothing
creates.

Why:
SLURM opens the files before the script runs. If the folder is not there the job fails and leaves no log at
all. A relative folder that nothing in the repository creates is a warning, and a hint where `.gitignore`
names it: its author has it, and a new clone has not. It is a hint where the script's usage says to make the
folder first, and of a folder that does not hang on the checkout (`/fsx/logs`): that one is missing once.
Nothing is said where a page (`*.md`) beside the script or above it, or in a `docs` there, says to make the
folder or starts the script by bash, or a script there makes it and then submits this one.

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
from fnmatch import fnmatchcase

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
        ran = ran_by(launch, batch)
        folders = {folder: given for given, folder in batch.output_folders("error", "output")}
        for folder, given in folders.items():
            made = [at for at, each in enumerate(ran) if makes_folder(each, folder, known=True)]
            if "%" in folder or (made and _submits_itself(ran[made[-1] :], batch)):
                continue
            if not (made or _of_checkout(folder, batch)) or launch.has_folder(folder, batch.path):
                continue
            told = os.path.isabs(folder) or _told(batch, re.escape(folder.removeprefix("./")))
            severity: Severity | None = "info" if told else None
            help_text = "create the folder before sbatch"
            if made:
                first = ran[made[0]]
                related = (Related("created here", place_of(first.words[0], first)),)
                message = f"SLURM opens {given.value} before the script creates {folder}"
                yield Complaint(message, given.place, related, help_text, severity)
            else:
                message = f"nothing makes the folder {folder}, in which SLURM opens the job's files"
                level: Severity = "info" if told or _is_ignored(launch, folder) else "warning"
                yield Complaint(message, given.place, (), help_text, level)


def _of_checkout(folder: str, batch: Batch) -> bool:
    """Whether a folder hangs on the one in which the job is submitted, is known as it stands, and the script
    does not submit jobs, itself among them."""
    relative = not folder.startswith(("/", "~", "..", "$")) and folder != "."
    submits = any("sbatch" in line and not line.startswith("#") for line in batch.lines)
    return relative and not submits and batch.get("chdir") is None


def _is_ignored(launch: LaunchedJob, folder: str) -> bool:
    """Whether git is told to pass over the folder, or one above it: there is one where somebody works."""
    first = folder.removeprefix("./").partition("/")[0]
    lines = (launch.beside(".gitignore") or "").splitlines()
    parts = (part for line in lines if not line.startswith("#") for part in line.strip().split("/"))
    return any(fnmatchcase(first, part) for part in parts if part.strip("*"))


def _submits_itself(behind: Sequence[TracedCommand], batch: Batch) -> bool:
    """Whether the folder is made outside of the job, by a script that then submits itself."""
    submits = (each.words for each in behind if each.programs[-1] == "sbatch")
    return any(word.text == batch.path for words in submits for word in words)


def _told(batch: Batch, folder: str) -> bool:
    """Whether a comment tells who submits the script to make the folder."""
    named = rf"(?<![\w/.-])(?:\./)?{folder}(?![\w-])"
    makes = re.compile(rf"\s*#(?!SBATCH)(?>.*?\b(?:mkdir|[Cc]reate|[Mm]ake)\b).*{named}")
    return any(makes.match(line) for line in batch.lines)
