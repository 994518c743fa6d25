"""The command line and the DeepSpeed config name different precisions.

Why:
Hugging Face stops: "--mixed_precision arg cannot be set to bf16 when fp16 is set in the DeepSpeed config
file". Others convert back and forth.

Bad:
--- ds_config.json
{"train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": true}}
--- launch.sh
accelerate launch --mixed_precision bf16 train.py --deepspeed ds_config.json

Good:
--- ds_config.json
{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}}
"""

from collections.abc import Iterator

from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR502"
TITLE = "command line and config differ in precision"
SEVERITY = "error"
SOURCE = "shibing624/MedicalGPT#288"
FILE = "ds_config.json"


_OTHER = {"bf16": "fp16", "fp16": "bf16"}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for name, at in _asked(launch):
        config = launch.key(f"{_OTHER[name]}.enabled")
        if config is not None and text_of(config) == "True":
            related = (Related(f"{_OTHER[name]} in the config", config),)
            message = f"{name} on the command line, {_OTHER[name]} in the config"
            yield Complaint(message, at, related, "the same precision in both")
            return


def _asked(launch: LaunchedJob) -> Iterator[tuple[str, Setting]]:
    for scope in ("launcher", "argument"):
        mixed = launch.setting(scope, "--mixed-precision")
        name = text_of(mixed)
        if mixed and name in _OTHER:
            yield name, mixed
    for name in _OTHER:
        option = launch.option(f"--{name}")
        if option is not None and (text_of(option) or "True").lower() == "true":
            yield name, option
