"""srun asks for more than the job has, or for tasks per node without saying how many tasks.

Why:
"More processors requested than permitted"; and --ntasks-per-node on srun alone is a limit, not a request.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun --nodes=4 --ntasks=4 hostname

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun --nodes=2 --ntasks=2 hostname
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR639"
TITLE = "srun asks for more than the job has"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


_NODES = re.compile(r"\s(?:--nodes[= ]|-N ?)(\d{1,9})\b")
_GPUS = re.compile(r"\s(?:--gpus-per-node|--gres)[= ](?:gpu:)?(?:[a-z]\w*:)?(\d{1,9})\b")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        nodes, gpus = batch.get("nodes"), batch.gpus_per_node
        limits = [
            (_NODES, "nodes", nodes.number if nodes else None, nodes),
            (_GPUS, "GPUs per node", gpus[0] if gpus else None, gpus[1] if gpus else None),
        ]
        for number, line in batch.commands(r"\bsrun\b"):
            for pattern, what, most, directive in limits:
                asked = pattern.search(line, line.index("srun"))
                if asked and most and directive and int(asked[1]) > most:
                    place = batch.place(number, re.escape(asked[0].strip()))
                    related = (Related(f"the job has {most}", directive.place),)
                    message = f"srun asks for {asked[1]} {what}, the job has {most}"
                    yield Complaint(message, place, related)
