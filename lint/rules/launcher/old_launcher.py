"""torch.distributed.launch starts the processes.

Why:
PyTorch deprecated it for torchrun. Unless it is given --use-env it adds --local-rank to the program's
arguments, which a program with its own parser refuses; before PyTorch 2.0 it was --local_rank.

Bad:
python -m torch.distributed.launch --nproc_per_node 8 pretrain_gpt.py --num-layers 32

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32
"""

from collections.abc import Iterator

from ...facts.commands import place_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR608"
TITLE = "torch.distributed.launch is deprecated"
SEVERITY = "info"
SOURCE = "PyTorch 2.13 torch/distributed/launch.py"

_MODULE = "torch.distributed.launch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for command in launch.config.trace:
        module = next((word for word in command.words if word.text == _MODULE), None)
        if module is not None:
            place = place_of(module, command)
            yield Complaint(
                f"{_MODULE} is deprecated", place, help="torchrun, or torch.distributed.run"
            )
            return
