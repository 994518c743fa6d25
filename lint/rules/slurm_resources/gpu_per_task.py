"""A task that sees one GPU, and a program that chooses its device by local rank.

Why:
With --gpus-per-task=1 every task sees its GPU as device 0, so `set_device(LOCAL_RANK)` fails with "invalid
device ordinal"; and a launcher finds one GPU where it should start several processes.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-task=1
srun torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32
"""

from collections.abc import Iterator

from ....reading.facts import number_of
from ...facts.batch import batches
from ...facts.commands import launchers, ran_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR636"
TITLE = "a launcher whose task sees one GPU"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8; ACEsuite/mace#435"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    processes = number_of(launch.setting("launcher", "--nproc-per-node"))
    for batch in batches(launch):
        given = batch.get("gpus-per-task")
        bound = batch.value("gpu-bind") or ""
        if given is None or (given.number != 1 and not bound.startswith("single")):
            continue
        if launchers(ran_by(launch, batch)) and (processes or 2) > 1:
            count = processes or "several"
            message = (
                f"every task sees {given.value} GPU, and the launcher starts {count} processes"
            )
            yield Complaint(message, given.place, help="--gpus-per-node, and one task per node")
