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

from collections.abc import Iterator, Sequence

from ....dsl.diagnostics import Severity
from ....reading.bash.trace import Assignment, Expansion, TracedCommand
from ...facts.batch import Batch, batches
from ...facts.commands import set_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related

CODE = "PAR811"
TITLE = "all names of the nodes in one element of an array"
SEVERITY = "error"
STOPS = "itself"
SOURCE = "bash(1), Arrays and Word Splitting; verl-project/verl#548"
SINCE = "2026-12"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        if batch.nodes == 1:
            continue
        ran = launch.commands_of(batch.path)
        for made in set_by(launch, batch):
            used = _element(launch, made) if _holds_names(made, ran) else None
            if used is not None:
                yield _complaint(batch, made, used)


def _holds_names(made: Assignment, ran: Sequence[TracedCommand]) -> bool:
    """Whether one element between quotes is what `scontrol show hostnames` prints, of which nothing picks a
    part."""
    pieces = [piece for element in made.elements or () for piece in element if piece.text]
    if len(made.elements or ()) != 1 or len(pieces) != 1 or pieces[0].split:
        return False
    asked = [each for each in ran if each.captured and each.place == pieces[0][1:4]]
    return any([word.text for word in each.words[:2]] == ["scontrol", "show"] for each in asked)


def _element(launch: LaunchedJob, made: Assignment) -> Expansion | None:
    """Where one element of the array is taken; `${nodes[@]}` without quotes is split after all."""
    reads = (each for each in launch.config.reads if each.name == made.name)
    below = (each for each in reads if each.path == made.place[0] and each.line > made.place[1])
    return next(
        (each for each in below if each.rest[:1] == "[" and each.rest[1:2] not in "@*"), None
    )


def _complaint(batch: Batch, made: Assignment, used: Expansion) -> Complaint:
    place = batch.place(made.place[1], rf"\b{made.name}=\((?:[^()]|\([^()]*\))*\)")
    asked = batch.get("nodes")
    related = [Related("one element is taken", Place(*used[2:5], used.length + 1))]
    if asked is not None:
        related.append(Related("the nodes", asked.place))
    message = f"the quotes make one element of all names in {made.name}"
    severity: Severity | None = None if batch.nodes else "warning"
    return Complaint(message, place, tuple(related), "take the quotes away", severity)
