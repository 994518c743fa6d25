"""Every rank belongs to one tensor, pipeline and context group, so tp * pp * cp must divide the number of
GPUs.

Why:
All processes start, and then all of them stop with an error.

Bad:
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 \\
    --pipeline-model-parallel-size 4

Good:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 \\
    --pipeline-model-parallel-size 4
"""

import math
from collections.abc import Iterator

from ...compiler_predicates import enforced, on_assumed_nodes
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR101"
TITLE = "tp * pp * cp does not divide the GPUs"
SEVERITY = "error"
STOPS = "itself"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:432"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    yield from on_assumed_nodes(launch, enforced(CODE, launch, cure=_worlds))


def _worlds(launch: LaunchedJob) -> str | None:
    """The nearest numbers of GPUs that the degrees divide."""
    gpus = launch.number("gpus")
    degrees = [launch.number(name) or 1 for name in ("tp", "pp", "cp")]
    group = math.prod(degrees)
    if gpus is None or group < 1:
        return None
    below, above = gpus // group * group, (gpus // group + 1) * group
    near = [str(gpus) for gpus in (below, above) if gpus > 0]
    return f"{' or '.join(near)} GPUs, or smaller degrees"
