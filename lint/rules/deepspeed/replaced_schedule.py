"""The DeepSpeed config has a schedule or an optimizer of its own, and the Trainer is told another one.

Why:
Transformers takes the config's `scheduler` and leaves `--lr_scheduler_type` unread: with `WarmupLR` the rate
stays where the warmup ends, whatever the command line says. It takes the config's `optimizer`, too, and
leaves `--optim` unread: the states of `adamw_bnb_8bit` are then AdamW's, in fp32.

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

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ....backends.deepspeed.option_rows import OPTIMIZER, SCHEDULE
from ....backends.huggingface.option_rows import BASE, LR_SCHEDULE, OPTIM
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import read_by_trainer, trainer_argument
from ...finding import Complaint, Related

CODE = "PAR482"
TITLE = "a schedule or an optimizer that DeepSpeed's replaces"
SEVERITY = "warning"
SOURCE = "transformers integrations/deepspeed.py, deepspeed_optim_sched; QwenLM/Qwen#672"
SINCE = "2026-12"
TRAINING = True
FILE = "launch.sh"


class _Replaced(NamedTuple):
    """An argument of the Trainer, axolotl's key for it, the config's key that goes before it, and which
    values of the two are the same."""

    argument: str
    of_axolotl: str
    key: str
    same: Mapping[str, tuple[str, ...]]


#: AdamW with states in fp32, by any kernel.
_ADAMW = ("adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw_apex_fused", "adamw_torch_xla")
_REPLACED = (
    _Replaced(
        LR_SCHEDULE,
        "lr_scheduler",
        SCHEDULE,
        {
            "WarmupLR": ("constant_with_warmup",),
            "WarmupDecayLR": ("linear",),
            "WarmupCosineLR": ("cosine",),
        },
    ),
    _Replaced(
        OPTIM,
        "optimizer",
        OPTIMIZER,
        {
            "Adam": _ADAMW,
            "AdamW": _ADAMW,
            "Lion": ("lion_32bit",),
            "SGD": ("sgd",),
            "Adagrad": ("adagrad",),
        },
    ),
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for replaced in _REPLACED:
        wins, asked = launch.key(replaced.key), _asked(launch, replaced)
        if wins is None or asked is None or not read_by_trainer(launch):
            continue
        name, wanted = text_of(wins), text_of(asked)
        if name is None or wanted is None or wanted in replaced.same.get(name, ()):
            continue
        argument = asked.name.lstrip("-").replace("-", "_")
        message = f"{argument} {wanted} is not read: the DeepSpeed config has {name}"
        related = (Related(f"{name} is used", wins),)
        block = replaced.key.partition(".")[0]
        yield Complaint(message, asked, related, f"take `{block}` out of the DeepSpeed config")


def _asked(launch: LaunchedJob, replaced: _Replaced) -> Setting | None:
    of_axolotl = launch.setting("yaml", BASE) is not None
    key = launch.setting("yaml", replaced.of_axolotl) if of_axolotl else None
    return key or trainer_argument(launch, replaced.argument)
