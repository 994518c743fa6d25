"""A quantity is given twice, in the DeepSpeed config and on the command line, with different values.

Why:
DeepSpeed trains with the config's value or stops; the framework above it counts with the other one, so
schedules and logs are wrong. Of a program of somebody's own two learning rates are a warning: one of them is
not used, and which one depends on whose optimizer it is.

Bad:
--- ds_config.json
{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8}
--- launch.sh
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --deepspeed --deepspeed_config ds_config.json \\
    --no-pipeline-parallel \\
    --micro-batch-size 8 --global-batch-size 1024

Good:
--- launch.sh
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --deepspeed --deepspeed_config ds_config.json \\
    --no-pipeline-parallel \\
    --micro-batch-size 8 --global-batch-size 64
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from ....backends.deepspeed.option_rows import BATCH, ROWS
from ....backends.huggingface.option_rows import TRAINER, option
from ....compiler.target import Effect
from ....reading.facts import Setting, number_of, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.release import TRANSFORMERS
from ...facts.trainer import (
    compares_deepspeed,
    left_out,
    own_loop,
    reads_training_arguments,
)
from ...facts.trainer_parser import fields_beside
from ...finding import Complaint, Related

CODE = "PAR207"
TITLE = "a quantity is given twice with different values"
SEVERITY = "error"
SOURCE = "sahil280114/codealpaca#14, CarperAI/trlx#376, hiyouga/LlamaFactory#201"
TRAINING = True


TOTAL, MICRO, STEPS = BATCH
CLIP = ROWS.setting("train", "clip_grad").name
STAGE = ROWS.fact("zero").name
_PER_DEVICE, _ACCUMULATION = (
    option(TRAINER.fact(name).name) for name in ("micro_batch", "microbatches")
)
_BETAS = "optimizer.params.betas"
#: DeepSpeed's key, and the options with the same meaning.
SAME = {
    TOTAL: ("--global-batch-size",),
    MICRO: ("--micro-batch-size", _PER_DEVICE, option(MICRO)),
    STEPS: (_ACCUMULATION,),
    STAGE: ("--zero-stage",),
    CLIP: ("--clip-grad", "--max-grad-norm"),
    "optimizer.params.lr": ("--lr", option(TRAINER.setting("train", "learning_rate").name)),
    "optimizer.params.weight_decay": (option(TRAINER.setting("train", "weight_decay").name),),
    "optimizer.params.eps": ("--adam-epsilon",),
    "scheduler.params.warmup_max_lr": (option(TRAINER.setting("train", "learning_rate").name),),
    "scheduler.params.total_num_steps": ("--max-steps",),
    "scheduler.params.warmup_num_steps": ("--warmup-steps",),
}


#: Keys of which the Trainer alone says that both must be equal.
_OF_TRAINER = (
    "optimizer.params.weight_decay",
    "optimizer.params.eps",
    "scheduler.params.warmup_max_lr",
    "scheduler.params.total_num_steps",
    "scheduler.params.warmup_num_steps",
)
#: Options that say nothing below 1: the steps are those of the data, the warm-up is a share of them.
_OF_STEPS = ("--max-steps", "--warmup-steps")
#: Megatron-DeepSpeed hands its own optimizer to deepspeed.initialize (megatron/training.py:425 of
#: bigscience-workshop's, :606 of deepspeedai's @f4157bea): that of the config is not used.
_LR = "optimizer.params.lr"
#: What a loop that takes batches from its own loader does not take from the config.
_OF_LOOP = (MICRO, STEPS)


def compared(name: str) -> bool:
    """Whether the Trainer compares a key with an argument of its own, as numbers."""
    return name in SAME.keys() | DEFAULTS.keys() and name != STAGE


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for key, options in SAME.items():
        if key == _LR and launch.kind.involves("megatron"):
            continue
        if key in _OF_TRAINER and not compares_deepspeed(launch):
            continue
        config = launch.key(key)
        keys = [name.removeprefix("--").replace("-", "_") for name in options]
        for scope, names in (("argument", options), ("launcher", options), ("yaml", keys)):
            given = launch.setting(scope, *names)
            if config is None or given is None or not _clashes(launch, config, given):
                continue
            if options[0] in _OF_STEPS and (number_of(given) or 0) < 1:
                continue
            if key in _OF_LOOP and own_loop(launch):
                continue
            if scope != "argument" or not left_out(launch, given.name):
                own = key == _LR and scope != "yaml" and not compares_deepspeed(launch)
                yield replace(_complaint(given, config), severity="warning" if own else None)
    yield from _default_stage(launch)
    yield from _accelerate(launch)
    yield from _hugging_face(launch)
    yield from _defaults(launch)
    yield from _recipe(launch)


def _complaint(given: Setting, other: Setting) -> Complaint:
    message = f"{given.name} {text_of(given)}, but {other.name} is {text_of(other)}"
    related = (Related(f"{other.name} {text_of(other)}", other),)
    return Complaint(message, given, related, "give it once, or the same value in both places")


def _differ(one: Setting, other: Setting) -> bool:
    """Whether both are numbers, and not the same."""
    first, second = (_number(text_of(each)) for each in (one, other))
    return first is not None and second is not None and first != second


def _clashes(launch: LaunchedJob, config: Setting, given: Setting) -> bool:
    """Whether they differ as numbers, or the Trainer compares a number with a word of its config."""
    word = text_of(config)
    if _differ(config, given) or not compares_deepspeed(launch) or word is None:
        return _differ(config, given)
    return _is_word(word) and _number(text_of(given)) is not None


def _is_word(text: str | None) -> bool:
    """Whether a text is no number, and neither filled in by the Trainer nor by a program before."""
    if text in (None, "auto", "null") or _number(text) is not None:
        return False
    return re.search(r"[${}<>@%]|^[A-Z_]{3,}$", text or "") is None


def _number(text: str | None) -> float | None:
    try:
        return float((text or "").replace("_", ""))
    except ValueError:
        return None


def _default_stage(launch: LaunchedJob) -> Iterator[Complaint]:
    """--zero-stage is 1 unless it is given (deepspeedai's megatron/arguments.py:1487), and only with 3 is the
    model built in parts (pretrain_gpt.py:49)."""
    config = launch.key(STAGE)
    given = launch.given("--zero-stage") or not launch.given("--deepspeed")
    ours = launch.kind.name == "megatron-deepspeed"
    if not ours or config is None or number_of(config) != 3 or given:
        return
    message = "zero_optimization.stage is 3, but --zero-stage is not given and is 1"
    help_text = "--zero-stage 3: without it every rank builds the whole model first"
    yield Complaint(message, config, help=help_text, severity="warning")


def _accelerate(launch: LaunchedJob) -> Iterator[Complaint]:
    """accelerate's own options and configuration against those of the program that it starts."""
    if reads_training_arguments(launch):
        for key in (STEPS, CLIP):
            config, given = launch.setting("yaml", f"deepspeed_config.{key}"), launch.option(
                *SAME[key]
            )
            if config is not None and given is not None and _differ(config, given):
                yield _complaint(given, config)
            elif config is not None and given is None and _alone(launch, key):
                yield from _default_of(launch, key, config)
    outer, inner = launch.setting("launcher", _ACCUMULATION), launch.option(_ACCUMULATION)
    if outer is not None and inner is not None and _differ(outer, inner):
        yield _complaint(inner, outer)


def _alone(launch: LaunchedJob, key: str) -> bool:
    """Whether accelerate's configuration alone says a key, and the program has the Trainer's default."""
    return launch.setting("launcher", option(key)) is None and fields_beside(launch) is not None


#: transformers 4.20.1 to 5.24.0 training_args.py: what a key is compared with where no option is given.
DEFAULTS = {
    MICRO: 8,
    STEPS: 1,
    CLIP: 1.0,
    _LR: 5e-5,
    "optimizer.params.weight_decay": 0.0,
    "optimizer.params.eps": 1e-8,
    "scheduler.params.warmup_max_lr": 5e-5,
    _BETAS: (0.9, 0.999),
}


def _defaults(launch: LaunchedJob) -> Iterator[Complaint]:
    """A number of the config against the Trainer's default; a program may have another default of its own."""
    if not compares_deepspeed(launch):
        return
    for key in DEFAULTS:
        config = launch.key(key)
        if config is not None and not launch.given(*SAME.get(key, ())):
            word = _number(text_of(config)) is None and _is_word(text_of(config))
            if word or key in SAME:
                yield from _default_of(launch, key, config)


def _default_of(launch: LaunchedJob, key: str, config: Setting) -> Iterator[Complaint]:
    """A number, or a word, that is not the Trainer's default."""
    default, number = DEFAULTS[key], _number(text_of(config))
    if number == default or (number is None and not _is_word(text_of(config))):
        return
    message = (
        f"{config.name} is {text_of(config)}, and the Trainer's own is {default} unless it is given"
    )
    sure = fields_beside(launch) is not None
    yield Complaint(
        message,
        config,
        help='"auto" in the config',
        severity=None if sure else "warning",
        effect=Effect.STOPS if sure else None,
        framework=TRANSFORMERS,
    )


def _hugging_face(launch: LaunchedJob) -> Iterator[Complaint]:
    """The Trainer computes the whole batch, and compares it with the config's; a loop of its own has
    DeepSpeed derive the accumulation."""
    if not compares_deepspeed(launch):
        return
    total = launch.key(TOTAL)
    micro = launch.option(_PER_DEVICE)
    steps = launch.option(_ACCUMULATION)
    if total and steps and launch.key(STEPS) is None and (number_of(steps) or 1) > 1:
        yield from _without_steps(total, steps)
    gpus, size, each = launch.number("gpus"), number_of(total), number_of(micro)
    count = 1 if steps is None else number_of(steps)
    if not (total and micro and gpus and size and each and count):
        return
    if each * count * gpus != size:
        message = (
            f"{TOTAL} {size}, but the command line gives micro-batch {each} * accumulation {count} "
            f"* {gpus} GPUs = {each * count * gpus}"
        )
        yield Complaint(
            message, total, (Related(f"{micro.name} {each}", micro),), '"auto" in the config'
        )


def _without_steps(total: Setting, steps: Setting) -> Iterator[Complaint]:
    """accelerate writes an accumulation of 1 into a config that has none (utils/dataclasses.py:1395), so that
    no number of GPUs makes both products the whole batch."""
    if number_of(total):
        message = (
            f"{steps.name} {text_of(steps)}, but the config has {TOTAL} {text_of(total)} and no {STEPS}"
            ", which is then 1"
        )
        related = (Related(f"{TOTAL} {text_of(total)}", total),)
        help_text = f'"{STEPS}": "auto" in the config'
        yield Complaint(
            message, steps, related, help_text, effect=Effect.STOPS, since="4.29",
            framework=TRANSFORMERS,
        )  # fmt: skip


#: Sizes that a recipe of Megatron-Bridge holds for the training and for its data.
_OF_RECIPE = ("micro_batch_size", "global_batch_size", "seq_length")


def _recipe(launch: LaunchedJob) -> Iterator[Complaint]:
    """One recipe that says a size to the training and another one to the data set (Megatron-Bridge#5386)."""
    if launch.kind.program != "megatron-bridge":
        return
    held = {setting.name: setting for setting in launch.all("python")}
    for name, data in held.items():
        recipe, _, key = f".{name}".rpartition(".dataset.")
        part = "model" if key == "seq_length" else "train"
        whole = f"{recipe}.{part}.{key}".removeprefix(".")
        own = held.get(whole) if key in _OF_RECIPE else None
        if own is not None and _differ(data, own):
            message = f"dataset.{key} is {text_of(data)}, but {part}.{key} is {text_of(own)}"
            related = (Related(f"{part}.{key} {text_of(own)}", own),)
            yield Complaint(message, data, related, "set one, and let the other follow it")
