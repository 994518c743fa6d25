"""CUDA_VISIBLE_DEVICES names GPUs that the job does not have.

Why:
SLURM numbers the GPUs of a job from 0 and sets CUDA_VISIBLE_DEVICES itself. Where it holds jobs to their
GPUs, another number is an invalid device; where it does not, the job computes on the GPUs of others.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:2
CUDA_VISIBLE_DEVICES=5,7 torchrun --standalone --nproc-per-node 2 train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:2
torchrun --standalone --nproc-per-node 2 train.py
"""

from collections.abc import Iterator

from ...facts.batch import Batch, batches
from ...facts.commands import literal, set_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related

CODE = "PAR666"
TITLE = "GPUs beyond those of the job"
SEVERITY = "warning"
SOURCE = "slurm.conf(5), gres.conf(5), cgroup.conf(5): ConstrainDevices"
SINCE = "2026-12"
FILE = "job.sbatch"

_NAME = "CUDA_VISIBLE_DEVICES"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        count = batch.gpus_per_node
        if count is not None and not batch.get("exclusive"):
            yield from _beyond(launch, batch, count[0], Related(f"{count[0]} GPUs", count[1].place))


def _beyond(launch: LaunchedJob, batch: Batch, count: int, asked: Related) -> Iterator[Complaint]:
    for made in set_by(launch, batch):
        devices = (literal(made) or "").split(",")
        if made.name != _NAME or not all(each.isdecimal() for each in devices):
            continue
        if max(map(int, devices)) >= count > 0:
            stated = f"{_NAME}={','.join(devices)}"
            place = Place(*made.place, len(stated))
            message = f"{stated}, and the job's GPUs are 0 to {count - 1}"
            yield Complaint(message, place, (asked,), "leave it to SLURM, or ask for more GPUs")
            return
