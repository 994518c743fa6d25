"""The batch script runs on the first node alone: a launcher that is started there without srun reaches no
other.

Why:
The other nodes stay idle, and the rendezvous waits for them until it times out.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d \\
    --rdzv-endpoint host1:29500 pretrain_gpt.py --num-layers 32

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d \\
    --rdzv-endpoint host1:29500 pretrain_gpt.py --num-layers 32
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob
from ...facts.launcher_patterns import LAUNCHERS, REACHES_NODES
from ...finding import Complaint, Related

CODE = "PAR635"
TITLE = "several nodes, and a launcher without srun"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8: RendezvousTimeoutError"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        nodes = batch.get("nodes")
        started = batch.commands(LAUNCHERS) or _through_script(launch, batch)
        if nodes is None or (nodes.number or 0) < 2 or not started:
            continue
        if batch.commands(REACHES_NODES) or any(_indirect(line) for _, line in started):
            continue
        number, _ = started[0]
        place = batch.place(number, LAUNCHERS)
        related = (Related(f"{nodes.number} nodes", nodes.place),)
        message = f"the launcher runs on the first of {nodes.number} nodes only"
        yield Complaint(message, place, related, "start it with srun")


def _indirect(line: str) -> bool:
    """A command kept in a variable or function may be started elsewhere."""
    return re.match(r"\s*(?:export\s+|local\s+)?\w+\+?=", line) is not None


def _through_script(launch: LaunchedJob, batch: Batch) -> list[tuple[int, str]]:
    """The statement that starts a script of the job with a launcher and nothing that reaches other nodes."""
    scripts = [
        Batch(path, text) for path, text in launch.config.texts.items() if path != batch.path
    ]
    names = [
        re.escape(PurePath(each.path).name)
        for each in scripts
        if each.commands(LAUNCHERS) and not each.commands(REACHES_NODES)
    ]
    return (
        batch.commands(rf"^(?>.*?(?:\bbash\b|\bsh\b|\./)).*(?:{'|'.join(names)})") if names else []
    )
