"""Changes that checkpoints of the Trainer under FSDP2 survive. Lines are those of transformers 5.23."""

from collections.abc import Mapping

from ...reading.facts import LaunchConfig
from ..resume import Cure, Resume, Row


def form(config: LaunchConfig, release: str) -> Mapping[str, str]:
    return {}


_SAME = "goal { require dp_shard == <as before>; require dp_replicate == <as before> }"
_ROWS = (
    Row(
        ("zero",),
        # accelerate 1.15 utils/fsdp_utils.py: shards have their names whenever weights are gathered.
        "trainer.py:2640",
        note="the shards are the same, whenever weights are gathered",
    ),
    Row(
        ("dp",),
        "trainer.py:2700",
        stops="every rank reads the state of its own generator, and the trainer skips other batches",
        cures=(Cure("setting", _SAME, "as many ranks"),),
        note="parc has not tried another number of ranks",
    ),
)
RESUME = Resume(_ROWS, form)
