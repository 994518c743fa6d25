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

from collections.abc import Iterator

from ...facts.batch import batches, gpu_count
from ...facts.commands import ran_by, step_options, steps
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related

CODE = "PAR639"
TITLE = "srun asks for more than the job has"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"

_GPUS = ("gpus-per-node", "gres")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        nodes, gpus = batch.get("nodes"), batch.gpus_per_node
        limits = (
            ("nodes", ("nodes",), nodes.number if nodes else None, nodes),
            ("GPUs per node", _GPUS, gpus[0] if gpus else None, gpus[1] if gpus else None),
        )
        seen: set[Place] = set()
        for _, step in steps(ran_by(launch, batch)):
            options = step_options(step)
            for what, names, most, limit in limits:
                asked = next((options[name] for name in names if name in options), None)
                count = asked and (gpu_count(asked) if names is _GPUS else asked.number)
                if asked is None or limit is None or not count or not most:
                    continue
                if count > most and asked.place not in seen:
                    seen.add(asked.place)
                    related = (Related(f"the job has {most}", limit.place),)
                    message = f"srun asks for {count} {what}, the job has {most}"
                    yield Complaint(message, asked.place, related)
