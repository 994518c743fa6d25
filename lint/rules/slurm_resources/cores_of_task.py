"""A launcher of several processes in a task for which the job asks no CPUs.

Why:
SLURM gives a task one CPU unless something says more: the processes of all GPUs, their data loaders and the
kernels that they launch share it (measured with SLURM 22.05.8: SLURM_CPUS_ON_NODE=1 beside --gres=gpu:8). A
site may give more by itself, whole nodes or DefCpuPerGPU of the partition: a hint.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
srun torchrun --nproc-per-node 8 train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=96
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" torchrun --nproc-per-node 8 train.py
"""

from collections.abc import Iterator

from ...facts.batch import Batch, batches
from ...facts.commands import launchers, place_of, ran_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR669"
TITLE = "one CPU for the processes of several GPUs"
SEVERITY = "info"
SINCE = "2026-12"
SOURCE = "sbatch(1), --cpus-per-task; measured with SLURM 22.05.8; Lightning-AI/litgpt#1851"
FILE = "job.sbatch"

#: Directives by which a job gets more CPUs than one a task.
_MORE_WORDS = """cpus-per-task cpus-per-gpu exclusive mincpus cores-per-socket extra-node-info gpus-per-task
    ntasks-per-gpu ntasks-per-socket threads-per-core tres-per-task sockets-per-node constraint"""
_MORE = tuple(_MORE_WORDS.split())


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given, tasks = batch.gpus_per_node, _tasks_per_node(batch)
        if given is None or tasks is None or batch.get(*_MORE) is not None:
            continue
        gpus, asked = given
        started = launchers(ran_by(launch, batch))
        if gpus < 2 or tasks >= gpus or not started:
            continue
        command, word = started[0]
        cpus = "1 CPU" if tasks == 1 else f"{tasks} CPUs"
        message = f"SLURM gives the processes of {gpus} GPUs {cpus}: nothing asks for more"
        related = (Related("they are started here", place_of(word, command)),)
        yield Complaint(message, asked.place, related, "--cpus-per-task=...")


def _tasks_per_node(batch: Batch) -> int | None:
    """Tasks on a node; None where the directives leave it open."""
    if batch.get("ntasks-per-node") is not None:
        return batch.number("ntasks-per-node")
    if batch.get("ntasks") is None:
        return 1
    tasks, nodes = batch.number("ntasks"), batch.nodes
    return tasks // nodes if tasks and nodes else None
