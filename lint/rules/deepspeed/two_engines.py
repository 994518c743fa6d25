"""One job asks for DeepSpeed and for FSDP.

Why:
Each of them divides the model and the optimizer, and one run has one of them: Transformers refuses `--fsdp`
beside `--deepspeed`, and of a DeepSpeed config under accelerate's FSDP one of the two files is not followed.

Bad:
--- accelerate.yaml
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
num_machines: 1
num_processes: 8
--- ds_config.json
{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}
--- launch.sh
accelerate launch --config_file accelerate.yaml train.py --output_dir out \\
    --per_device_train_batch_size 1 --learning_rate 1e-5 --deepspeed ds_config.json

Good:
--- launch.sh
accelerate launch --config_file accelerate.yaml train.py --output_dir out \\
    --per_device_train_batch_size 1 --learning_rate 1e-5
"""

from collections.abc import Iterator

from ....backends.huggingface.option_rows import KIND
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import deepspeed_of_trainer, trainer_argument
from ...finding import Complaint, Related

CODE = "PAR481"
TITLE = "DeepSpeed and FSDP in one job"
SEVERITY = "error"
STOPS = "itself"
SOURCE = (
    "transformers trainer.py: Using --fsdp xxx together with --deepspeed is not possible; accelerate launch: "
    "distributed_type names one of them"
)
SINCE = "2026-12"
TRAINING = True
FILE = "launch.sh"

#: Words of `--fsdp` that ask for nothing.
_OFF = ("", "no", "false", "none", "null")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    config, other = deepspeed_of_trainer(launch), _fsdp(launch)
    if config is not None and other is not None:
        message = f"{config.name} {text_of(config)} beside FSDP: one run has one of them"
        related = (Related("FSDP is asked for here", other),)
        yield Complaint(message, config, related, "keep one of the two")


def _fsdp(launch: LaunchedJob) -> Setting | None:
    own = trainer_argument(launch, "fsdp")
    if own is not None and (text_of(own) or "").lower() not in _OFF:
        return own
    switch = launch.setting("launcher", "--use-fsdp")
    kind = launch.setting("yaml", KIND)
    return switch or (kind if text_of(kind) == "FSDP" else None)
