"""Quotes make one element of all names of the job's nodes.

Why:
`scontrol show hostnames` prints a name a line. In quotes they stay one text, so `${nodes[0]}` is every name
and `${nodes[1]}` none: srun -w and the rendezvous get a name that no node has.

Bad:
#!/bin/bash
#SBATCH --nodes=2
nodes=("$(scontrol show hostnames "$SLURM_JOB_NODELIST")")
head=${nodes[0]}
srun torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint "$head:29500" train.py

Good:
#!/bin/bash
#SBATCH --nodes=2
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
head=${nodes[0]}
srun torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint "$head:29500" train.py
"""

import re
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR811"
TITLE = "all names of the nodes in one element of an array"
SEVERITY = "error"
STOPS = "itself"
SOURCE = "bash(1), Arrays and Word Splitting; verl-project/verl#548"
SINCE = "2026-12"
FILE = "job.sbatch"

#: What prints every name of the job, and nothing that picks one of them.
_NAMES = r"(?:\$\(|`)\s*scontrol\s+show\s+(?:hostnames?|hosts)\b[^|;&)`]*[)`]"
_ONE = re.compile(rf"(?:^|\s)(\w+)=\(\s*\"({_NAMES}|\$\{{?(\w+)\}}?)\"\s*\)")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        if batch.nodes == 1:
            continue
        for number, line in batch.body:
            found = _ONE.search(line)
            if found is None or (found[3] and not _holds_names(batch, found[3], number)):
                continue
            used = _element(batch, found[1], number)
            if used is not None:
                yield _complaint(batch, number, found[1], used)


def _holds_names(batch: Batch, variable: str, before: int) -> bool:
    """Whether the last assignment above a line is of all names."""
    own = [line for number, line in batch.commands(rf"\b{variable}=") if number < before]
    return bool(own) and re.search(rf"\b{variable}=\"?{_NAMES}\"?\s*(?:#.*)?$", own[-1]) is not None


def _element(batch: Batch, array: str, below: int) -> int | None:
    """The line that takes one element of the array; `${nodes[@]}` without quotes is split after all."""
    used = batch.commands(rf"\$\{{{array}\[[^\]@*]{{1,100}}\]\}}")
    return next((number for number, _ in used if number > below), None)


def _complaint(batch: Batch, number: int, array: str, used: int) -> Complaint:
    place = batch.place(number, rf"\b{array}=\((?:[^()]|\([^()]*\))*\)")
    asked = batch.get("nodes")
    related = [Related("one element is taken", batch.place(used, rf"\$\{{{array}\["))]
    if asked is not None:
        related.append(Related("the nodes", asked.place))
    message = f"the quotes make one element of all names in {array}"
    severity: Severity | None = None if batch.nodes else "warning"
    return Complaint(message, place, tuple(related), "take the quotes away", severity)
