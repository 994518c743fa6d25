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

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...facts.launcher_patterns import LAUNCHERS, REACHES_NODES
from ...finding import Complaint, Related

CODE = "PAR664"
TITLE = "a world of several tasks, and one process"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8: the batch script is task 0 alone; ACEsuit/mace#168"
SINCE = "2026-12"
FILE = "job.sbatch"

_WORLD = (
    r"(?:^|[;&|])(?>[^;&|]*?\bWORLD_SIZE=)[^;&|]*"
    r"\bSLURM_(?:NTASKS|NPROCS|NTASKS_PER_NODE|TASKS_PER_NODE)\b"
)
_PROGRAM = r"^\s*(?:\w+=\S*\s+)*(?:exec\s+)?python[\d.]*\s+(?:-\w\s+)*[\w./-]+\.py\b"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        tasks = batch.get("ntasks-per-node", "ntasks")
        counted, started = batch.commands(_WORLD), batch.commands(_PROGRAM)
        if tasks is None or (tasks.number or 0) < 2 or not counted or not started:
            continue
        if batch.commands(REACHES_NODES) or batch.commands(LAUNCHERS):
            continue
        related = (
            Related(f"{tasks.number} tasks", tasks.place),
            Related("the world counts them", batch.place(counted[0][0])),
        )
        message = "the program is started once, and the world counts the tasks of the job"
        yield Complaint(message, batch.place(started[-1][0]), related, "start it with srun")
