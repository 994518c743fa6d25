"""The smallest learning rate cannot be above the largest.

Why:
Megatron-LM stops with a bare assertion.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --lr 1e-5 --min-lr 1e-4

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --lr 1e-4 --min-lr 1e-5
"""

from collections.abc import Iterator

from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR316"
TITLE = "the smallest learning rate is above the largest"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1360"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at, other = launch.option("--lr"), launch.option("--min-lr")
    most, least = _float(text_of(at)), _float(text_of(other))
    if (
        launch.framework == "megatron"
        and at
        and other
        and most is not None
        and least is not None
        and least > most
    ):
        related = (Related(f"--lr {text_of(at)}", at),)
        yield Complaint(f"--min-lr {text_of(other)} is above --lr {text_of(at)}", other, related)


def _float(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None
