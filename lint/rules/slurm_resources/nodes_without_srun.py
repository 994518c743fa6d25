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

from collections.abc import Iterator

from ....reading.bash.trace import TracedCommand
from ...facts.batch import batches
from ...facts.commands import launchers, place_of, ran_by, reaches_nodes
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR635"
TITLE = "several nodes, and a launcher without srun"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8: RendezvousTimeoutError"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        nodes, ran = batch.get("nodes"), ran_by(launch, batch)
        started = launchers(ran)
        if nodes is None or (nodes.number or 0) < 2 or not started or any(map(reaches_nodes, ran)):
            continue
        command, word = started[0]
        if _elsewhere(launch, command):
            continue
        related = (Related(f"{nodes.number} nodes", nodes.place),)
        message = f"the launcher runs on the first of {nodes.number} nodes only"
        yield Complaint(message, place_of(word, command), related, "start it with srun")


def _elsewhere(launch: LaunchedJob, command: TracedCommand) -> bool:
    """Whether one of its scripts has a step in a branch that another environment takes."""
    texts = (launch.config.texts.get(path, "") for path in command.scripts)
    lines = (line.lstrip() for text in texts for line in text.split("\n"))
    return any("srun " in line and not line.startswith(("#", "echo ")) for line in lines)
