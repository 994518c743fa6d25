"""A port that each task draws for itself, or one outside the range that is free on every host.

Why:
Tasks that draw their own port do not meet. Ports above 32767 are given to outgoing connections, and ports
below 1024 belong to the system.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun bash -c 'MASTER_PORT=$((20000 + RANDOM % 10000)) torchrun --nnodes 2 \\
    --nproc-per-node 8 pretrain_gpt.py'

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
srun torchrun --nnodes 2 --nproc-per-node 8 --master-port "$MASTER_PORT" pretrain_gpt.py
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR642"
TITLE = "a rendezvous port that each task draws for itself"
SEVERITY = "warning"
SOURCE = "NVIDIA/enroot#243"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for number, _ in batch.commands(
            r"^(?>.*?\bsrun\b).*'(?>[^']*?(?:PORT|port))[^']*\bRANDOM\b"
        ):
            place = batch.place(number, "RANDOM")
            message = "every task draws its own port"
            yield Complaint(message, place, help="$((20000 + SLURM_JOB_ID % 10000)), before srun")
