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

from ....backends.huggingface.option_rows import ACCELERATE, CONFIG_FILE, KIND
from ....backends.megatron.option_rows import HALVES
from ....compiler.target import Effect
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.release import TRANSFORMERS
from ...facts.trainer import compares_deepspeed, is_on, reads_training_arguments
from ...facts.trainer_parser import fields_beside
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


_MIXED = ("--mixed-precision",)
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
    """The Trainer compares `enabled` of both with its own --fp16 and --bf16, which are off unless given; a
    text is equal to neither."""
    sure = fields_beside(launch) is not None
    for name in _OTHER:
        options = [launch.option(f"--{name}"), launch.option(f"--{name}-full-eval")]
        on = next((each for each in options if each is not None and is_on(each)), None)
        for at, config in _configured(launch, name):
            text = text_of(at)
            if (text in ("True", name)) is (on is not None) and text in ("True", "False", name):
                continue
            if not sure and (name == "bf16" or text != "True" or launch.given(*HALVES)):
                continue
            said = f"{name} in {config} and no --{name} for the Trainer"
            if on is not None:
                said = f"{on.name} for the Trainer and {at.name} {text} in {config}"
            yield Complaint(
                f"{said}, which stops at the mismatch",
                at,
                help=f'--{name}, or "enabled": "auto"',
                severity=None if sure else "warning",
                effect=Effect.STOPS if sure else None,
                since="4.31",
                framework=TRANSFORMERS,
            )


def _configured(launch: LaunchedJob, name: str) -> Iterator[tuple[Setting, str]]:
    """Where DeepSpeed's precision is said: in the Trainer's config, or by accelerate, which has one made."""
    at = launch.key(f"{name}.enabled")
    if compares_deepspeed(launch):
        if at is not None and (text_of(at) or "").lower() in ("true", "false"):
            yield at, "the config"
        return
    mixed = launch.setting("yaml", ACCELERATE.fact("precision").name)
    made = text_of(launch.setting("yaml", KIND)) == "DEEPSPEED"
    if not made or mixed is None or text_of(mixed) != name or not reads_training_arguments(launch):
        return
    own_file = launch.setting("yaml", CONFIG_FILE) is not None or launch.given(*_MIXED)
    if not own_file and not is_on(launch.option(f"--{name}")):
        yield mixed, "accelerate's configuration"


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
