"""torch.distributed.launch starts the processes.

Why:
PyTorch deprecated it for torchrun. Unless it is given --use-env it adds --local-rank to the program's
arguments, which a program with its own parser refuses; before PyTorch 2.0 it was --local_rank.

Bad:
python -m torch.distributed.launch --nproc_per_node 8 pretrain_gpt.py --num-layers 32

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32
"""

import re
from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR608"
TITLE = "torch.distributed.launch is deprecated"
SEVERITY = "info"
SOURCE = "PyTorch 2.13 torch/distributed/launch.py"

_MODULE = re.compile(r"\btorch\.distributed\.launch\b")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for path, number, line, match in launch.matches(_MODULE):
        if not line.lstrip().startswith("#"):
            place = Place(path, number, match.start() + 1, len(match[0]))
            message = "torch.distributed.launch is deprecated"
            yield Complaint(message, place, help="torchrun, or torch.distributed.run")
            return
