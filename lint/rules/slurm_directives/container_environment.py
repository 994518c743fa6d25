"""A value in pyxis' --container-env, which takes names alone.

Why:
pyxis looks for a variable whose name is the whole text, `NAME=value`, finds none, and sets nothing: inside
the container NAME has the value that it would have without the option.

Bad:
#!/bin/bash
#SBATCH --nodes=1
srun --container-image=nvcr.io/nvidia/pytorch:25.03-py3 --container-env=HF_HOME=/cache python train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
export HF_HOME=/cache
srun --container-image=nvcr.io/nvidia/pytorch:25.03-py3 --container-env=HF_HOME python train.py
"""

import re
from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR668"
TITLE = "a value where pyxis takes names of variables"
SEVERITY = "warning"
SOURCE = "NVIDIA/pyxis args.c: container-env is NAME[,NAME...]"
SINCE = "2026-12"
FILE = "job.sbatch"

_GIVEN = re.compile(r"(?<=\s)--container-env(?:=|[ \t]+)[\"']?([\w,]*?)\b([A-Za-z_]\w*)=")
#: Other programs have an option of this name that takes a value, as gcloud does.
_OF_SLURM = re.compile(r"^#SBATCH\b|\b(?:srun|sbatch|salloc)\b", re.MULTILINE)
_OTHERS = re.compile(r"\bgcloud\b")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for path, number, line, found in launch.matches(_GIVEN):
        comment = line.lstrip().startswith("#") and not line.startswith("#SBATCH")
        text = launch.config.texts[path]
        if comment or not _OF_SLURM.search(text) or _OTHERS.search(text):
            continue
        name = found[2]
        place = Place(path, number, found.start() + 1, found.end() - found.start())
        message = (
            f"--container-env takes names, and `{name}=` begins a value: {name} is not set to it"
        )
        yield Complaint(message, place, help=f"export {name} before, and --container-env={name}")
