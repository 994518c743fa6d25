"""A key that does nothing at this ZeRO stage, or beside another key.

Why:
DeepSpeed loads it without a word: quantized weights below ZeRO 3 are not quantized; bf16 beside
torch_autocast trains in one of the two; without data_parallel_size a sequence_parallel_size builds no
groups in deepspeed.initialize.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 2, "zero_quantized_weights": true}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "zero_quantized_weights": true}
}
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import complaints

CODE = "PAR418"
TITLE = "a key that does nothing here"
SEVERITY = "warning"
SOURCE = "DeepSpeed 0.19.8: loaded, and found without effect"
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from complaints("deepspeed", CODE, launch)
