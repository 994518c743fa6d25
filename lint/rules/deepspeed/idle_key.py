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

from ....reading.facts import number_of, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR418"
TITLE = "a key that does nothing here"
SEVERITY = "warning"
SOURCE = "DeepSpeed 0.19.8: loaded, and found without effect"
FILE = "ds_config.json"


THIRD_STAGE = ("zero_quantized_weights", "zero_quantized_nontrainable_weights")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at, stage = launch.key("zero_optimization.stage"), number_of(
        launch.key("zero_optimization.stage")
    )
    for name in THIRD_STAGE:
        setting = launch.key(f"zero_optimization.{name}")
        if (
            setting is not None
            and text_of(setting) == "True"
            and at is not None
            and stage in (0, 1, 2)
        ):
            related = (Related(f"stage {stage}", at),)
            yield Complaint(f"{name} does nothing at stage {stage}", setting, related, '"stage": 3')
    autocast, half = launch.key("torch_autocast.enabled"), launch.key("bf16.enabled")
    if autocast and half and text_of(autocast) == "True" and text_of(half) == "True":
        related = (Related("bf16 is on", half),)
        yield Complaint("torch_autocast and bf16 are both on", autocast, related, "keep one")
