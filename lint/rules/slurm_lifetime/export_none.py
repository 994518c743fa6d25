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

from collections.abc import Iterator

from ....reading.bash.trace import TracedCommand
from ...facts.batch import Directive, batches
from ...facts.commands import place_of, ran_by, step_options, steps
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR654"
TITLE = "--export=NONE and a step without an environment"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8; srun(1), --export; Azure/az-hop#1119"
FILE = "job.sbatch"

#: Pyxis and CSCS's container engine, and programs that start an image: each has a PATH of its own.
_CONTAINER_OPTIONS = frozenset({"container-image", "container-name", "environment"})
_CONTAINER_PROGRAMS = frozenset({"apptainer", "singularity", "podman", "enroot", "shifter"})
#: Programs that a step finds by PATH.
_FOUND = ("python", "torchrun", "accelerate", "deepspeed", "bash")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("export")
        alone = given is not None and given.value == "NONE" and "SLURM_EXPORT_ENV" not in batch.text
        for command, step in steps(ran_by(launch, batch)):
            options = step_options(step)
            contained = not _CONTAINER_OPTIONS.isdisjoint(options)
            if contained or not _CONTAINER_PROGRAMS.isdisjoint(command.programs):
                continue
            if "export" in options:
                yield from _listed(options["export"], command)
            elif given is not None and alone:
                related = (Related("--export=NONE", given.place),)
                message = "the step has no environment"
                yield Complaint(message, place_of(step[0], command), related, "srun --export=ALL")


def _listed(export: Directive, command: TracedCommand) -> Iterator[Complaint]:
    """A step that is handed a list without ALL, and starts a program that it must find by PATH."""
    names = {part.partition("=")[0] for part in (export.value or "").split(",")} - {""}
    by_path = any(word.lead.startswith(_FOUND) for word in command.words[:1])
    if names and by_path and not {"ALL", "NONE", "NIL", "PATH"} & names:
        message = "the step has only the variables of --export, and no PATH"
        help_text = f"--export=ALL,{export.value}"
        yield Complaint(message, export.place, help=help_text)
