"""mpirun starts the ranks, and nothing hands PyTorch their rank and number: OpenMPI's own variables have
other names.

Why:
Every process believes that it is alone: DeepSpeed then finds a batch that does not multiply, or all ranks
train the same data. A program of one's own may read OpenMPI's variables itself: of such it is a hint.

Bad:
mpirun -np 16 python train.py --deepspeed --deepspeed_config ds_config.json

Good:
torchrun --nnodes 2 --nproc-per-node 8 train.py --deepspeed --deepspeed_config ds_config.json
"""

import re
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.bash.commands.launching import PYTHONS
from ....reading.bash.trace import program
from ...facts.commands import place_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR609"
TITLE = "mpirun without the variables that PyTorch reads"
SEVERITY = "warning"
SOURCE = "hiyouga/LlamaFactory#2574"
FILE = "train.sh"


_MPIRUN = frozenset({"mpirun", "mpiexec", "orterun"})
_HANDED_ON = re.compile(
    r"OMPI_COMM_WORLD_|PMI_RANK|\bRANK=|\bWORLD_SIZE=|mpi4py|deepspeed_mpi|--deepspeed-mpi|PMIX_RANK"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    texts = "\n".join(launch.config.texts.values())
    if _HANDED_ON.search(texts):
        return
    for command in launch.config.trace:
        started = next((words for words in command.wrappers if program(words[0]) in _MPIRUN), None)
        if started is not None and program(command.words[0]) in PYTHONS:
            message = "mpirun's ranks have no RANK, LOCAL_RANK and WORLD_SIZE"
            help_text = "start with torchrun or deepspeed, or export them from OMPI_COMM_WORLD_RANK and _SIZE"
            own = not launch.kind.program and not launch.kind.scheduler
            severity: Severity | None = "info" if own else None
            yield Complaint(message, place_of(started[0], command), (), help_text, severity)
            return
