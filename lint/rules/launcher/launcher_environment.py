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

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR609"
TITLE = "mpirun without the variables that PyTorch reads"
SEVERITY = "warning"
SOURCE = "hiyouga/LlamaFactory#2574"
FILE = "train.sh"


_MPIRUN = re.compile(r"^(?>.*?\b(?:mpirun|mpiexec|orterun)\b).*\bpython[0-9.]*\s")
_HANDED_ON = re.compile(
    r"OMPI_COMM_WORLD_|PMI_RANK|\bRANK=|\bWORLD_SIZE=|mpi4py|deepspeed_mpi|--deepspeed-mpi|PMIX_RANK"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    texts = "\n".join(launch.config.texts.values())
    if _HANDED_ON.search(texts):
        return
    for path, number, line, match in launch.matches(_MPIRUN):
        if not line.lstrip().startswith("#"):
            place = Place(path, number, match.start() + 1, len(match[0].split()[0]))
            message = "mpirun's ranks have no RANK, LOCAL_RANK and WORLD_SIZE"
            help_text = "start with torchrun or deepspeed, or export them from OMPI_COMM_WORLD_RANK and _SIZE"
            own = not launch.kind.program and not launch.kind.scheduler
            yield Complaint(message, place, help=help_text, severity="info" if own else None)
            return
