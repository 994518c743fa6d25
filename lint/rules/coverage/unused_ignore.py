"""A comment `# parc: ignore[CODE]` hides nothing.

Why:
The line that it was written for has been repaired or has moved. Left alone, the comment hides the next
mistake.

Bad:
# parc: ignore[PAR104] measured: 16 is faster on this fabric
set -e
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --tensor-model-parallel-size 8

Good:
# parc: ignore[PAR104] measured: 16 is faster on this fabric
set -e
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --tensor-model-parallel-size 16
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR902"
TITLE = "an ignore comment that hides nothing"
SEVERITY = "warning"
SOURCE = "parc: docs/lint.md, Suppressing"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """Yields nothing: judging.py reports this rule, after all others."""
    yield from ()
