"""GPUs are asked for twice, with different numbers.

Why:
sbatch takes the job; the step fails: "Step requested gres_per_node=gpu:8 is more than the job's
gres_per_node=gpu:4".

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --gres=gpu:4
srun hostname

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun hostname
"""

from collections.abc import Iterator

from ...facts.batch import batches, gpu_count
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR640"
TITLE = "two GPU requests that differ"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        one, other, total = (batch.get(name) for name in ("gpus-per-node", "gres", "gpus"))
        count, second = (gpu_count(each) if each else None for each in (one, other))
        if one and other and count and second and count != second:
            related = (Related(f"--gres gives {second}", other.place),)
            yield Complaint(f"--gpus-per-node {count}, but --gres {second}", one.place, related)
        per_node, nodes = count or second, batch.number("nodes")
        whole = gpu_count(total) if total else None
        if total and per_node and nodes and whole and whole != per_node * nodes:
            at = one or other
            others = (Related(f"{per_node} per node", at.place),) if at else ()
            message = f"--gpus {whole} is not {nodes} nodes * {per_node} = {nodes * per_node}"
            yield Complaint(message, total.place, others)
