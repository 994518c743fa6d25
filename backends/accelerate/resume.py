"""Changes that checkpoints of the Trainer under FSDP2 survive.

Lines are those of transformers 5.23 (trainer.py) and accelerate 1.15.
"""

from collections.abc import Mapping

from ...reading.facts import LaunchConfig
from ..resume import Resume, Row


def form(config: LaunchConfig, release: str) -> Mapping[str, str]:
    """Every checkpoint has one form."""
    return {}


_ROWS = (
    Row(
        ("zero",),
        "utils/fsdp_utils.py:114",
        note="the shards are the same, whenever weights are gathered",
    ),
    Row(
        ("dp",),
        "trainer.py:3841",
        note="every rank reads its part of the shards; generators have a file for each rank",
        lost=("rng",),
    ),
)
RESUME = Resume(_ROWS, form)
