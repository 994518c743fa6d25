"""SLURM_GPUS_PER_NODE is no safe number: it is unset under --gres, and "a100:4" where a type was named.

Why:
The script fails, or starts one process, on a site that asks for GPUs in the other way. SLURM_GPUS_ON_NODE
is a number in both.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:8
srun torchrun --nproc-per-node "$SLURM_GPUS_PER_NODE" pretrain_gpt.py --num-layers 32

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:8
srun torchrun --nproc-per-node "$SLURM_GPUS_ON_NODE" pretrain_gpt.py --num-layers 32
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.commands import place_of_read, set_by, used_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR644"
TITLE = "SLURM_GPUS_PER_NODE used as a number"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8; awslabs/awsome-distributed-ai#71"
FILE = "job.sbatch"


_NAME = "SLURM_GPUS_PER_NODE"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        request = batch.get("gpus-per-node")
        # A value of the script's own is one that SLURM's absence leaves.
        own = any(made.name == _NAME for made in set_by(launch, batch))
        if own or request is not None and request.number is not None:
            continue
        why = f"is {request.value}" if request else "is unset without --gpus-per-node"
        for read in used_by(launch, batch):
            if read.name == _NAME and not read.rest:
                place = place_of_read(read)
                yield Complaint(f"{_NAME} {why}", place, help="$SLURM_GPUS_ON_NODE")
