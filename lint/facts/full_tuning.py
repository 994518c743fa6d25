"""Whether a job of Hugging Face's Trainer, LLaMA-Factory, axolotl or TRL states a full fine-tuning by AdamW,
whose memory parc prices; else why it is not judged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...dsl.model_names import quantised
from ...reading.facts import Setting, text_of
from .launched_job import LaunchedJob
from .named_model import model_setting
from .trainer import is_on, trainer_argument, training_arguments

#: Switches of adapters: peft's in TRL, LLaVA, FastChat and Qwen's own scripts.
_ADAPTERS = ("use_peft", "use_lora", "lora_enable", "use_dora")
#: Switches of weights in fewer bits.
_BITS = ("load_in_4bit", "load_in_8bit", "q_lora")
#: Switches of kernels whose memory is not priced: no table of logits, activations of their own.
_KERNELS = (
    "use_liger_kernel",
    "enable_liger_kernel",
    "use_unsloth",
    "liger_fused_linear_cross_entropy",
)
#: What `optim` may be, by transformers' training_args.py and axolotl's: AdamW with two moments in fp32.
_ADAMW = (
    "adamw",
    "adamw_hf",
    "adamw_torch",
    "adamw_torch_fused",
    "adamw_torch_xla",
    "adamw_apex_fused",
)
#: Stages of LLaMA-Factory and methods of axolotl and TRL that train one model on text.
_ONE_MODEL = ("sft", "pt")
_OF_TWO = re.compile(r"(?:^|[^a-z])(dpo|ppo|grpo|kto|orpo|simpo|rloo|rm|reward|rlhf)(?:[^a-z]|$)")
#: Programs that train all weights unless a switch above says otherwise: transformers' examples and TRL's.
_WHOLE = frozenset({"run_clm.py", "run_clm_no_trainer.py", "sft.py"})
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
    if stage is not None and text_of(stage) not in _ONE_MODEL:
        yield f"{_said(stage)} needs more than one model"
    program = launch.config.program.rpartition("/")[2].lower()
    if (two := _OF_TWO.search(program)) is not None:
        yield f"`{program}` ({two[1]}) needs more than one model"
    optimizer = trainer_argument(launch, "optim") or launch.setting("yaml", "optimizer")
    if optimizer is not None and (text_of(optimizer) or "").lower() not in _ADAMW:
        yield f"{_said(optimizer)} is not AdamW in fp32"
    for name in _KERNELS:
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
    for name in (*_ADAPTERS, *_BITS):
        if is_on(switch := trainer_argument(launch, name)) and switch is not None:
            yield f"{_said(switch)} does not train all weights"
    for name in ("lora_r", "lora_rank", "lora_target_modules", "quantization_bit"):
        given = trainer_argument(launch, name)
        if given is not None and text_of(kind) != "full" and text_of(given) not in ("0", "null"):
            yield f"{_said(given)} does not train all weights"


def _unknown_program(launch: LaunchedJob, program: str) -> Iterator[str]:
    if _axolotl(launch) or _factory(launch) or program in _WHOLE or not program:
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
