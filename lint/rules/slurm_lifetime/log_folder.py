"""The job's output goes to a folder that nothing here makes.

Why:
SLURM opens the output before the script runs, and makes no folder. Where the folder is not there the job
fails and leaves no log at all.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --output=logs/%j.out
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --output=%x-%j.out
srun python train.py
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR661"
TITLE = "output in a folder that nothing makes"
SEVERITY = "info"
SOURCE = "measured with SLURM 22.05.8: Could not open stdout file"
FILE = "job.sbatch"

#: What is not below the folder of the submission, or is decided by SLURM.
_ELSEWHERE = re.compile(r"^[/~$]|%|^\.\.?$")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    texts = "\n".join(launch.config.texts.values())
    for batch in batches(launch):
        for given, folder in batch.output_folders("output", "error"):
            if _ELSEWHERE.search(folder):
                continue
            last = folder.rpartition("/")[2]
            if not re.search(rf"^(?>.*?\bmkdir\b).*{re.escape(last)}", texts, re.MULTILINE):
                message = f"SLURM writes to {given.value}, and nothing makes {folder}"
                yield Complaint(message, given.place, help="create the folder before sbatch")
                break
