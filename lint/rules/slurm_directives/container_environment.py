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

from collections.abc import Iterator

from ....reading import sbatch_options
from ....reading.bash.values import Word
from ....reading.sbatch_options import BatchOption
from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR668"
TITLE = "a value where pyxis takes names of variables"
SEVERITY = "warning"
SOURCE = "NVIDIA/pyxis args.c: container-env is NAME[,NAME...]"
SINCE = "2026-12"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for option in _options(launch):
        given = Word(option.value).lead.split(",") if option.value else []
        stated = next((part for part in given if "=" in part), None)
        if option.name == "container-env" and stated is not None:
            name = stated.partition("=")[0]
            at = option.word
            place = Place(at.path, at.line, at.column, len(f"--container-env={name}="))
            message = f"--container-env takes names, and `{name}=` begins a value: {name} is not set to it"
            help_text = f"export {name} before, and --container-env={name}"
            yield Complaint(message, place, help=help_text)


def _options(launch: LaunchedJob) -> dict[BatchOption, None]:
    """The options of a job's directives and of its steps."""
    found: dict[BatchOption, None] = {}
    for batch in batches(launch):
        found.update(dict.fromkeys(batch.options))
    for command in launch.config.trace:
        options = sbatch_options.options((command.step or ())[1:], sbatch_options.SRUN)[0]
        found.update(dict.fromkeys(options))
    return found
