"""The DeepSpeed config has a schedule of its own, and the Trainer is told another one.

Why:
Transformers takes the config's `scheduler` and leaves `--lr_scheduler_type` unread: with `WarmupLR` the rate
stays where the warmup ends, whatever the command line says.

Bad:
--- ds_config.json
{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2},
 "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}}}
--- launch.sh
deepspeed --num_gpus 8 train.py --output_dir out --per_device_train_batch_size 1 --learning_rate 1e-5 \\
    --lr_scheduler_type cosine --deepspeed ds_config.json

Good:
--- ds_config.json
{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}
"""

from collections.abc import Iterator

from ....backends.deepspeed.option_rows import SCHEDULE
from ....backends.huggingface.option_rows import LR_SCHEDULE
from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import deepspeed_of_trainer, trainer_argument
from ...finding import Complaint, Related

CODE = "PAR482"
TITLE = "a schedule that DeepSpeed's replaces"
SEVERITY = "warning"
SOURCE = "transformers integrations/deepspeed.py, deepspeed_optim_sched; QwenLM/Qwen#672"
SINCE = "2026-12"
TRAINING = True
FILE = "launch.sh"

#: DeepSpeed's schedules, and those of the Trainer that are the same.
_SAME = {
    "WarmupLR": ("constant_with_warmup",),
    "WarmupDecayLR": ("linear",),
    "WarmupCosineLR": ("cosine",),
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    wins, asked = launch.key(SCHEDULE), trainer_argument(launch, LR_SCHEDULE)
    if wins is None or asked is None or deepspeed_of_trainer(launch) is None:
        return
    name, wanted = text_of(wins), text_of(asked)
    if name is None or wanted is None or wanted in _SAME.get(name, ()):
        return
    message = f"lr_scheduler_type {wanted} is not read: the DeepSpeed config has {name}"
    related = (Related(f"{name} is used", wins),)
    yield Complaint(message, asked, related, "take `scheduler` out of the DeepSpeed config")
