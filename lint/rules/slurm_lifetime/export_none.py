"""--export=NONE leaves the step without an environment, unless srun is told otherwise; and a list of
variables without ALL takes the others away, PATH among them.

Why:
The step fails with "execve(): bash: No such file or directory". A container's image has a PATH of its own.

Bad:
#!/bin/bash
#SBATCH --export=NONE
srun python train.py

Good:
#!/bin/bash
#SBATCH --export=NONE
srun --export=ALL python train.py
"""

import re
from collections.abc import Iterator

from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR654"
TITLE = "--export=NONE and a step without an environment"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8; srun(1), --export; Azure/az-hop#1119"
FILE = "job.sbatch"

_LIST = re.compile(
    r"--export[= ][\"']?([A-Za-z_]\w*(?:=[^,\s\"']*)?(?:,[A-Za-z_]\w*(?:=[^,\s\"']*)?)*)[\"']?(?=\s)"
)
#: Pyxis, CSCS's container engine, and programs that start an image: each has a PATH of its own.
_CONTAINER = re.compile(
    r"--container-(?:image|name)\b|--environment[= ]|\b(?:apptainer|singularity|podman|enroot|shifter)\b"
)
_FOUND = re.compile(r"\s(?:python[\d.]*|torchrun|accelerate|deepspeed|bash)\s")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        yield from _listed(batch)
        given = batch.get("export")
        if given is None or given.value != "NONE" or "SLURM_EXPORT_ENV" in batch.text:
            continue
        for number, line in batch.commands(r"\bsrun\b"):
            if "--export" not in line and not _CONTAINER.search(line):
                related = (Related("--export=NONE", given.place),)
                message = "the step has no environment"
                yield Complaint(
                    message, batch.place(number, r"\bsrun\b"), related, "srun --export=ALL"
                )


def _listed(batch: Batch) -> Iterator[Complaint]:
    """A step that is handed a list without ALL, and starts a program that it must find by PATH."""
    for number, line in batch.commands(r"^(?>.*?\bsrun\b).*\s--export[= ]"):
        match = None if _CONTAINER.search(line) else _LIST.search(line)
        names = [part.partition("=")[0] for part in match[1].split(",")] if match else []
        if names and not {"ALL", "NONE", "NIL", "PATH"} & set(names) and _FOUND.search(line):
            message = "the step has the variables of --export alone, and no PATH"
            help_text = f"--export=ALL,{match[1] if match else ''}"
            yield Complaint(message, batch.place(number, r"--export\S*"), help=help_text)
