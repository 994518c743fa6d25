"""Whether a job of Hugging Face's Trainer, LLaMA-Factory, axolotl or TRL states a full fine-tuning by AdamW,
whose memory parc prices; else why it is not judged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...backends.huggingface.tuning_switches import (
    ADAMW,
    ADAPTERS,
    NARROW_WEIGHTS,
    ONE_MODEL_STAGES,
    OTHER_KERNELS,
    WHOLE_PROGRAMS,
)
from ...dsl.model_names import quantised
from ...reading.facts import Setting, text_of
from .launched_job import LaunchedJob
from .named_model import model_setting
from .trainer import is_on, trainer_argument, training_arguments

_OF_TWO = re.compile(r"(?:^|[^a-z])(dpo|ppo|grpo|kto|orpo|simpo|rloo|rm|reward|rlhf)(?:[^a-z]|$)")
_FACTORY = "finetuning_type"
_PEFT = re.compile(r"\bpeft\b|\blora", re.IGNORECASE)


def of_trainer(launch: LaunchedJob) -> bool:
    """Whether a trainer's arguments are read, of a job that no framework's own program runs."""
    return not launch.megatron and bool(training_arguments(launch) or _axolotl(launch))


def not_full(launch: LaunchedJob) -> str:
    """Why the files do not state a full fine-tuning that is priced; empty where they do."""
    return next(_reasons(launch), "")


def _axolotl(launch: LaunchedJob) -> bool:
    return launch.setting("yaml", "base_model") is not None


def _factory(launch: LaunchedJob) -> bool:
    named = (trainer_argument(launch, name) for name in ("template", "stage"))
    return trainer_argument(launch, _FACTORY) is not None or (
        launch.kind.launcher == "llamafactory" or all(each is not None for each in named)
    )


def _reasons(launch: LaunchedJob) -> Iterator[str]:
    yield from _partly(launch)
    named = text_of(model_setting(launch)) or ""
    if quantised(named):
        yield f"`{named}` has quantised weights"
    stage = trainer_argument(launch, "stage") or launch.setting("yaml", "rl")
    if stage is not None and text_of(stage) not in ONE_MODEL_STAGES:
        yield f"{_said(stage)} needs more than one model"
    program = launch.config.program.rpartition("/")[2].lower()
    if (two := _OF_TWO.search(program)) is not None:
        yield f"`{program}` ({two[1]}) needs more than one model"
    optimizer = trainer_argument(launch, "optim") or launch.setting("yaml", "optimizer")
    if optimizer is not None and (text_of(optimizer) or "").lower() not in ADAMW:
        yield f"{_said(optimizer)} is not AdamW in fp32"
    for name in OTHER_KERNELS:
        if is_on(kernel := trainer_argument(launch, name)) and kernel is not None:
            yield f"{_said(kernel)} keeps other activations"
    yield from _unknown_program(launch, program)


def _partly(launch: LaunchedJob) -> Iterator[str]:
    """Settings by which other than all weights train."""
    kind = trainer_argument(launch, _FACTORY) or trainer_argument(launch, "train_type")
    kind = kind or launch.setting("yaml", "adapter")
    if kind is not None and text_of(kind) not in ("full", None, "", "null"):
        yield f"{_said(kind)} does not train all weights"
    if kind is None and _factory(launch):
        yield "LLaMA-Factory trains LoRA where finetuning_type is not stated"
    for name in (*ADAPTERS, *NARROW_WEIGHTS):
        if is_on(switch := trainer_argument(launch, name)) and switch is not None:
            yield f"{_said(switch)} does not train all weights"
    for name in ("lora_r", "lora_rank", "lora_target_modules", "quantization_bit"):
        given = trainer_argument(launch, name)
        if given is not None and text_of(kind) != "full" and text_of(given) not in ("0", "null"):
            yield f"{_said(given)} does not train all weights"


def _unknown_program(launch: LaunchedJob, program: str) -> Iterator[str]:
    if _axolotl(launch) or _factory(launch) or program in WHOLE_PROGRAMS or not program:
        return
    if program in ("trl", "llamafactory", "llamafactory-cli") or "axolotl" in program:
        return
    text = launch.program_text
    if text is None:
        yield f"whether `{program}` trains all weights is unknown"
    elif _PEFT.search(text):
        yield f"`{program}` may train adapters"


def _said(setting: Setting) -> str:
    return f"`{setting.name.lstrip('-')}: {text_of(setting) or 'on'}`"
