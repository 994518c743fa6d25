"""The nodes and GPUs that a launcher counts are not those that the job asks for, or a GPU count is written
twice.

Why:
Fewer processes than GPUs leave GPUs idle; more nodes than the job has wait for each other until the
rendezvous times out. A number that stands twice will differ one day.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py --num-layers 32

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
srun torchrun --nnodes "$SLURM_NNODES" --nproc-per-node "${SLURM_GPUS_ON_NODE:-8}" pretrain_gpt.py \\
    --num-layers 32
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..batch import Batch, batches
from ..finding import Complaint, Related
from ..launch import Launch, number_of

CODE = "PAR601"
NAME = "world-drift"
TITLE = "a launcher counts other nodes or GPUs than the job has"
SEVERITY = "error"
SOURCE = "k2-fsa/icefall#2067; arithmetic"
FILE = "job.sbatch"


_COPY = re.compile(r"(?:export\s+)?\w*(?:GPU|NPROC|DEVICES|WORLD)\w*=[\"']?(\d+)[\"']?\s*(?:#.*)?$")


def check(launch: Launch) -> Iterator[Complaint]:
    for batch in batches(launch):
        yield from _nodes(launch, batch)
        yield from _gpus(launch, batch)


def _nodes(launch: Launch, batch: Batch) -> Iterator[Complaint]:
    asked, counted = batch.get("nodes"), launch.setting("launcher", "--nnodes")
    nodes, told = asked.number if asked else None, number_of(counted)
    if asked and counted and nodes and told and nodes != told and counted.path == batch.path:
        related = (Related(f"--nodes {nodes}", asked.place),)
        message = f"the launcher waits for {told} nodes, and the job has {nodes}"
        yield Complaint(message, counted, related, '--nnodes "$SLURM_NNODES"')


def _gpus(launch: Launch, batch: Batch) -> Iterator[Complaint]:
    asked, counted = batch.gpus_per_node, launch.setting("launcher", "--nproc-per-node")
    told = number_of(counted)
    if asked is None:
        return
    gpus, directive = asked
    related = (Related(f"{gpus} GPUs per node", directive.place),)
    if counted and told and told < gpus:
        message = f"{told} processes on a node of {gpus} GPUs leave {gpus - told} idle"
        yield Complaint(message, counted, related, severity="warning")
    for number, line in batch.body:
        match = _COPY.match(line.strip())
        if match and int(match[1]) == gpus:
            message = f"the GPUs of a node are written twice: {gpus}"
            help_text = f"${{SLURM_GPUS_ON_NODE:-{gpus}}}"
            yield Complaint(message, batch.place(number), related, help_text, "info")
