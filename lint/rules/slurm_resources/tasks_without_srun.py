"""The batch script counts its tasks for PyTorch's world, and starts its program once.

Why:
A batch script runs once, on the first node, however many tasks it asks for. The only process waits for the
ranks that WORLD_SIZE promises, until it times out.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --gres=gpu:2
export WORLD_SIZE=$(($SLURM_NNODES * $SLURM_NTASKS_PER_NODE))
python train.py --distributed

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --gres=gpu:2
export WORLD_SIZE=$(($SLURM_NNODES * $SLURM_NTASKS_PER_NODE))
srun python train.py --distributed
"""

from collections.abc import Iterator

from ....reading.bash.trace import Assignment, TracedCommand, program
from ...facts.batch import batches
from ...facts.commands import launchers, place_of, ran_by, reaches_nodes, set_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR664"
TITLE = "a world of several tasks, and one process"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8: the batch script is task 0 alone; ACEsuit/mace#168"
SINCE = "2026-12"
FILE = "job.sbatch"

_TASKS = frozenset(
    {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        tasks = batch.get("ntasks-per-node", "ntasks")
        counted = [made for made in set_by(launch, batch) if _counts(made)]
        ran = ran_by(launch, batch)
        started = [each for each in ran if _python(each)]
        if tasks is None or (tasks.number or 0) < 2 or not counted or not started:
            continue
        if any(map(reaches_nodes, ran)) or launchers(ran):
            continue
        related = (
            Related(f"{tasks.number} tasks", tasks.place),
            Related("the world counts them", batch.place(counted[0].place[1])),
        )
        message = "the program is started once, and the world counts the tasks of the job"
        at = place_of(started[-1].words[0], started[-1])
        yield Complaint(message, at, related, "start it with srun")


def _counts(made: Assignment) -> bool:
    """Whether the world is computed from the number of tasks."""
    return made.name == "WORLD_SIZE" and any(read.name in _TASKS for read in made.reads)


def _python(command: TracedCommand) -> bool:
    """Whether Python runs a file in a process of its own."""
    words = command.words
    return program(words[0]).startswith("python") and any(
        word.tail.endswith(".py") for word in words
    )
