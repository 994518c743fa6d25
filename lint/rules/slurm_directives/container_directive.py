"""Container options as directives.

Why:
They belong to srun, where pyxis adds them: sbatch itself runs the script in the container, in which srun
and scontrol are missing, or does not know the option. It is a hint of a script that calls nothing of SLURM.

Bad:
#!/bin/bash
#SBATCH --container-image=nvcr.io/nvidia/pytorch:25.03-py3
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
srun --container-image=nvcr.io/nvidia/pytorch:25.03-py3 python train.py
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.batch import batches
from ...facts.commands import ran_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR657"
TITLE = "container options as directives"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8; Azure/az-hop#1023"
FILE = "job.sbatch"

#: Programs that the image of a container does not have.
_OF_SLURM = frozenset({"srun", "scontrol", "sbatch", "squeue", "scancel", "sacct"})


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = [each for each in batch.directives.values() if each.name.startswith("container-")]
        if given:
            first, *others = given
            message = f"--{first.name} puts the batch script itself into the container"
            related = tuple(Related(f"--{each.name}", each.place) for each in others)
            options = " ".join(f"--{each.name}" for each in given)
            ran = ran_by(launch, batch)
            asks_slurm = any(not _OF_SLURM.isdisjoint(each.programs) for each in ran)
            severity: Severity | None = None if asks_slurm else "info"
            yield Complaint(message, first.place, related, f"srun {options}", severity)
