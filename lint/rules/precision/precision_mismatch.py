"""The command line and the DeepSpeed config name different precisions.

Why:
Hugging Face stops: "--mixed_precision arg cannot be set to bf16 when fp16 is set in the DeepSpeed config
file". Others convert back and forth. Megatron-DeepSpeed without --fp16 and --bf16 builds the model in fp32;
bigscience's fork stops ("megatron fp16 config does not match deepspeed").

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

from ....backends.megatron.option_rows import HALVES
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import compares_deepspeed
from ...finding import Complaint, Related

CODE = "PAR502"
TITLE = "command line and config differ in precision"
SEVERITY = "error"
SOURCE = (
    "shibing624/MedicalGPT#191, #288; bigscience-workshop/Megatron-DeepSpeed@8387ae17 "
    "megatron/training.py:432; transformers 5.10.4 integrations/deepspeed.py:180"
)
FILE = "ds_config.json"
TRAINING = True


_OTHER = {"bf16": "fp16", "fp16": "bf16"}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for name, at in _asked(launch):
        config = launch.key(f"{_OTHER[name]}.enabled")
        if config is not None and text_of(config) == "True":
            related = (Related(f"{_OTHER[name]} in the config", config),)
            message = f"{name} on the command line, {_OTHER[name]} in the config"
            yield Complaint(message, at, related, "the same precision in both")
            return
    yield from _only_in_config(launch)
    yield from _unknown_to_trainer(launch)


def _only_in_config(launch: LaunchedJob) -> Iterator[Complaint]:
    """Megatron-DeepSpeed's own default is fp32, whatever the config says."""
    if launch.kind.name != "megatron-deepspeed" or launch.value("precision") is None:
        return
    for name in _OTHER:
        at = launch.key(f"{name}.enabled")
        if at is not None and text_of(at) == "True" and not launch.given(*HALVES):
            message = f"{name} in the config, and without --{name} Megatron counts in fp32"
            yield Complaint(message, at, help=f"--{name}", severity="warning")


def _unknown_to_trainer(launch: LaunchedJob) -> Iterator[Complaint]:
    """The Trainer compares fp16.enabled with its own --fp16, which is off unless it is given."""
    at = launch.key("fp16.enabled")
    if at is None or text_of(at) != "True" or not compares_deepspeed(launch):
        return
    if not launch.given(*HALVES, "--fp16-full-eval"):
        message = "fp16 in the config and no --fp16 for the Trainer, which stops at the mismatch"
        yield Complaint(message, at, help='--fp16, or "enabled": "auto"', severity="warning")


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
