"""A DeepSpeed config must give train_batch_size or train_micro_batch_size_per_gpu.

Why:
DeepSpeed stops at start. Megatron-DeepSpeed fills in neither. Of a config without its command it is a hint:
an autotuner or a program may fill it in.

Bad:
--- ds_config.json
{
  "gradient_accumulation_steps": 4,
  "zero_optimization": {"stage": 1}
}
--- launch.sh
deepspeed --num_nodes 1 --num_gpus 8 train.py --deepspeed --deepspeed_config ds_config.json

Good:
--- ds_config.json
{
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "zero_optimization": {"stage": 1}
}
"""

from collections.abc import Iterator

from ....backends.huggingface.option_rows import TRAINER, option
from ....dsl.diagnostics import Severity
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place
from .batch_triple import MICRO, TOTAL

CODE = "PAR206"
TITLE = "neither of DeepSpeed's batch sizes is given"
SEVERITY = "error"
SOURCE = "DeepSpeed 0.19.8 runtime/config.py:649"
TRAINING = True


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    keys = launch.all("json")
    if not keys or launch.key(TOTAL) or launch.key(MICRO):
        return
    if _filled_in(launch):
        return
    message = f"neither {TOTAL} nor {MICRO} is given"
    severity: Severity = "error" if launch.all("argument") else "info"
    yield Complaint(message, Place(keys[0].path, 1), help=f'"{MICRO}": 1', severity=severity)


def _filled_in(launch: LaunchedJob) -> bool:
    """Whether a trainer above DeepSpeed gives the batch: Hugging Face names its config by --deepspeed."""
    config = launch.option("--deepspeed", "--deepspeed-config-file")
    size = option(TRAINER.fact("micro_batch").name)
    trainer = launch.given(size, "--model-name-or-path", "--use-deepspeed")
    named = launch.given("--deepspeed-config", "--deepspeed_config")
    whole = launch.kind.involves("megatron") or named or not launch.all("argument")
    return trainer or bool(config and config.values) or not whole
