"""--segment divides the nodes of a job into equal blocks that share NVLink, so it must divide the nodes.

Why:
SLURM refuses the job: "Invalid --segment specification"; and a block smaller than the groups of the layout
lets them leave NVLink.

Bad:
#!/bin/bash
#SBATCH --nodes=18
#SBATCH --segment=4
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=16
#SBATCH --segment=4
srun python train.py
"""

from collections.abc import Iterator

from ...compiler_predicates import legal_values
from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR621"
TITLE = "a segment that does not divide the nodes or hold the layout's groups"
SEVERITY = "error"
SOURCE = "NVIDIA-NeMo/Automodel#3914"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given, nodes = batch.get("segment"), batch.get("nodes")
        if given and nodes and given.number and nodes.number and nodes.number % given.number:
            related = (Related(f"nodes {nodes.number}", nodes.place),)
            divisors = (k for k in range(1, nodes.number + 1) if nodes.number % k == 0)
            message = f"segment {given.number} does not divide {nodes.number} nodes"
            yield Complaint(message, given.place, related, legal_values("segment", divisors))
