"""Since SLURM 22.05 a step does not take --cpus-per-task from the job.

Why:
The step gets one CPU for each task, and data loading crawls. A site may restore the old behaviour.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --cpus-per-task=16
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --cpus-per-task=16
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" python train.py
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.commands import asks, place_of, ran_by, step_options, steps
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR655"
TITLE = "--cpus-per-task in the job and not in the step"
SEVERITY = "info"
SOURCE = "SLURM 22.05 release notes; Lightning-AI/pytorch-lightning#18650"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("cpus-per-task")
        if given is None or "SRUN_CPUS_PER_TASK" in batch.text:
            continue
        for command, step in steps(ran_by(launch, batch)):
            if asks(command) or "cpus-per-task" in step_options(step):
                continue
            related = (Related(f"--cpus-per-task={given.value}", given.place),)
            message = "the step does not inherit --cpus-per-task"
            help_text = '--cpus-per-task="$SLURM_CPUS_PER_TASK"'
            yield Complaint(message, place_of(step[0], command), related, help_text)
            break
