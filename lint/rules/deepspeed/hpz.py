"""The secondary partition of ZeRO++ (zero_hpz_partition_size) keeps a copy of the weights on a node: it
needs ZeRO 3, and must divide the ranks into several equal parts.

Why:
DeepSpeed accepts anything, and trains without it or with uneven groups.

Bad:
--- ds_config.json
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 2, "zero_hpz_partition_size": 8}
}
--- launch.sh
deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed_config ds_config.json

Good:
--- ds_config.json
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}
}
"""

from collections.abc import Iterator

from ....reading.facts import number_of
from ...compiler_predicates import legal_values
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related
from ...rows import complaints

CODE = "PAR412"
TITLE = "a secondary partition (hpz) that does nothing, or of uneven parts"
SEVERITY = "warning"
SOURCE = "DeepSpeed 0.19.8 utils/groups.py:918, runtime/zero/stage3.py:265"
FILE = "ds_config.json"


KEY = "zero_optimization.zero_hpz_partition_size"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    idle = list(complaints("deepspeed", CODE, launch))
    yield from idle
    at = launch.key(KEY)
    size, gpus = number_of(at), launch.number("gpus")
    if idle or at is None or size is None or size < 2:
        return
    if gpus is not None and gpus % size:
        related = (Related(f"{gpus} GPUs", launch.facts["gpus"]),)
        legal = legal_values("hpz", (k for k in range(1, gpus + 1) if gpus % k == 0))
        yield Complaint(f"hpz {size} does not divide {gpus} GPUs", at, related, legal)
