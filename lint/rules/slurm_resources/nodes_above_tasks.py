"""More nodes than tasks: SLURM quietly takes fewer nodes.

Why:
"can't run 1 processes on 2 nodes, setting nnodes to 1": the job runs on one node, and ends with success.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks=1
srun hostname

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks=2
srun hostname
"""

from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR638"
TITLE = "more nodes than tasks"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8: ran on one node, exit code 0"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        nodes, tasks = batch.get("nodes"), batch.get("ntasks")
        if nodes and tasks and nodes.number and tasks.number and nodes.number > tasks.number:
            related = (Related(f"ntasks {tasks.number}", tasks.place),)
            message = f"nodes {nodes.number} is more than ntasks {tasks.number}, and SLURM takes fewer nodes"
            yield Complaint(message, nodes.place, related, f"--ntasks={nodes.number}")
