"""A port that each task draws for itself, or one outside the range that is free on every host.

Why:
Tasks that draw their own port do not meet. Ports above 32767 are given to outgoing connections, and ports
below 1024 belong to the system.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun bash -c 'MASTER_PORT=$((20000 + RANDOM % 10000)) torchrun --nnodes 2 \\
    --nproc-per-node 8 pretrain_gpt.py'

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
srun torchrun --nnodes 2 --nproc-per-node 8 --master-port "$MASTER_PORT" pretrain_gpt.py
"""

import re
from collections.abc import Iterator
from itertools import chain

from ...facts.batch import batches
from ...facts.commands import ran_by, steps
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR642"
TITLE = "a rendezvous port that each task draws for itself"
SEVERITY = "warning"
SOURCE = "NVIDIA/enroot#243"
FILE = "job.sbatch"


_DRAWN = re.compile(r"\bRANDOM\b")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for command, _ in steps(ran_by(launch, batch)):
            for piece in chain.from_iterable(word.pieces for word in command.words):
                text = piece.text if isinstance(piece.text, str) else ""
                drawn = _DRAWN.search(text)
                if drawn and "port" in text[: drawn.start()].lower():
                    column = piece.column + drawn.start()
                    place = Place(piece.path, piece.line, column, len(drawn[0]))
                    help_text = "$((20000 + SLURM_JOB_ID % 10000)), before srun"
                    yield Complaint("every task draws its own port", place, help=help_text)
