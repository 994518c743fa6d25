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

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR644"
TITLE = "SLURM_GPUS_PER_NODE used as a number"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8; awslabs/awsome-distributed-ai#71"
FILE = "job.sbatch"


#: The script's own value, which SLURM's absence leaves.
_SET = r"^\s*(?:export\s+)?SLURM_GPUS_PER_NODE="
_USE = re.compile(r"\$\{?SLURM_GPUS_PER_NODE\}?(?![:\w-])")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        request = batch.get("gpus-per-node")
        plain = request is not None and request.number is not None or batch.commands(_SET)
        for number, line in batch.commands(_USE.pattern):
            if plain or re.match(r"\s*echo\b", line):
                continue
            why = f"is {request.value}" if request else "is unset without --gpus-per-node"
            message = f"SLURM_GPUS_PER_NODE {why}"
            place = batch.place(number, r"SLURM_GPUS_PER_NODE")
            edits = ()
            yield Complaint(message, place, help="$SLURM_GPUS_ON_NODE", edits=edits)
