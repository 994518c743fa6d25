"""A count of GPUs that SLURM does not set, or not as a number: SLURM_GPUS_PER_NODE and SLURM_GPUS are unset
where the GPUs are asked for otherwise (--gres), and "a100:4" where a type was named.

Why:
The script fails, or starts one process, on a site that asks for GPUs in the other way, and a test whether the
job has GPUs ends it. SLURM_GPUS_ON_NODE is a number in all of them. It is an error where the header asks for
GPUs otherwise and a command is given the empty value.

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

from ....compiler.target import Effect
from ....reading.bash.trace import Expansion
from ...facts.batch import Batch, batches
from ...facts.commands import place_of_read, prints, ran_by, set_by, used_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR644"
TITLE = "a count of GPUs that SLURM does not set"
SEVERITY = "warning"
STOPS = "itself"
SOURCE = "measured with SLURM 22.05.8; awslabs/awsome-distributed-ai#71"
FILE = "job.sbatch"

#: Variable -> the option that sets it, sbatch(1), "output environment variables".
_SET_BY = {"SLURM_GPUS_PER_NODE": "gpus-per-node", "SLURM_GPUS": "gpus"}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        # A value of the script's own is one that SLURM's absence leaves.
        own = {made.name for made in set_by(launch, batch)}
        for read in used_by(launch, batch):
            option = _SET_BY.get(read.name)
            if option is not None and read.name not in own and not read.rest:
                yield from _of_read(launch, batch, read, option)


def _of_read(
    launch: LaunchedJob, batch: Batch, read: Expansion, option: str
) -> Iterator[Complaint]:
    request = batch.get(option)
    if request is not None and request.number is not None:
        return
    why = f"is {request.value}" if request else f"is unset without --{option}"
    message, place = f"{read.name} {why}", place_of_read(read)
    if request is None and _asks_otherwise(batch) and _is_handed_on(launch, batch, read.name):
        yield Complaint(message, place, (), "$SLURM_GPUS_ON_NODE", "error", effect=Effect.STOPS)
    else:
        yield Complaint(message, place, help="$SLURM_GPUS_ON_NODE")


def _asks_otherwise(batch: Batch) -> bool:
    """Whether the header asks for GPUs by another option, beside which nobody gives one to sbatch."""
    asked = batch.get("gres")
    return asked is not None and (asked.value or "").startswith("gpu")


def _is_handed_on(launch: LaunchedJob, batch: Batch, name: str) -> bool:
    """Whether a command that does more than print has the value among its words."""
    ran = (each for each in ran_by(launch, batch) if not prints(each))
    return any(read.name == name and not read.rest for each in ran for read in each.reads)
