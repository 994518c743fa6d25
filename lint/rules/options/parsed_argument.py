"""An argument that the program's own parser of Transformers' Trainer refuses: its name, or its value.

Why:
HfArgumentParser stops at names that no dataclass of the program has, at words for numbers and at what is
neither true nor false; TrainingArguments stops at words for a schedule, an optimizer or a strategy that it
does not know, and at a fraction of a step above 1.

Bad:
torchrun --nproc-per-node 8 train.py --output_dir out --per_device_train_batch_size four \\
    --learning_rate 1e-5

Good:
torchrun --nproc-per-node 8 train.py --output_dir out --per_device_train_batch_size 4 \\
    --learning_rate 1e-5
"""

import re
from collections.abc import Iterator

from ....backends.huggingface.option_rows import LR_SCHEDULE, OPTIM
from ....backends.released_options import ReleasedOption
from ....dsl.diagnostics import Severity, did_you_mean
from ....reading.facts import Setting, Unknown, text_of
from ...facts.empty_value import emptied
from ...facts.launched_job import LaunchedJob
from ...facts.release import TRANSFORMERS, Release
from ...facts.trainer import reads_training_arguments
from ...facts.trainer_parser import fields_beside
from ...finding import Complaint
from .option_value import NUMBERS

CODE = "PAR476"
TITLE = "an argument that the program's parser does not take"
SEVERITY = "error"
STOPS = TRANSFORMERS
SOURCE = (
    "transformers 5.23 hf_argparser.py, _parse_dataclass_field and parse_args_into_dataclasses; "
    "training_args.py, __post_init__ and _validate_args"
)
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"

#: What string_to_bool takes, in any case.
_TRUTH = ("yes", "true", "t", "y", "1", "no", "false", "f", "n", "0")
_STRATEGIES = ("no", "steps", "epoch")
#: Arguments whose words are members of an enumeration, those of releases since 4.20 together.
WORDS = {
    "--eval_strategy": _STRATEGIES,
    "--evaluation_strategy": _STRATEGIES,
    "--logging_strategy": _STRATEGIES,
    "--save_strategy": (*_STRATEGIES, "best"),
    "--hub_strategy": ("end", "every_save", "checkpoint", "all_checkpoints"),
    f"--{LR_SCHEDULE}": (
        "linear", "cosine", "cosine_with_restarts", "polynomial", "constant", "constant_with_warmup",
        "inverse_sqrt", "reduce_lr_on_plateau", "cosine_with_min_lr", "cosine_warmup_with_min_lr",
        "warmup_stable_decay", "greedy",
    ),
    f"--{OPTIM}": (
        "adamw_hf", "adamw_torch", "adamw_torch_fused", "adamw_torch_xla", "adamw_torch_npu_fused",
        "adamw_apex_fused", "adafactor", "adamw_anyprecision", "adamw_torch_4bit", "adamw_torch_8bit",
        "ademamix", "sgd", "adagrad", "adamw_bnb_8bit", "adamw_8bit", "ademamix_8bit", "lion_8bit",
        "lion_32bit", "paged_adamw_32bit", "paged_adamw_8bit", "paged_ademamix_32bit",
        "paged_ademamix_8bit", "paged_lion_32bit", "paged_lion_8bit", "rmsprop", "rmsprop_bnb",
        "rmsprop_bnb_8bit", "rmsprop_bnb_32bit", "galore_adamw", "galore_adamw_8bit", "galore_adafactor",
        "galore_adamw_layerwise", "galore_adamw_8bit_layerwise", "galore_adafactor_layerwise", "lomo",
        "adalomo", "grokadamw", "schedule_free_radam", "schedule_free_adamw", "schedule_free_sgd",
        "apollo_adamw", "apollo_adamw_layerwise", "stable_adamw",
    ),
}  # fmt: skip
#: Counts of steps that are a share of all steps below 1, and whole above.
_STEPS = ("--logging_steps", "--eval_steps", "--save_steps")
_FILLED_IN = re.compile(r"[<>$`{}]")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not reads_training_arguments(launch):
        return
    own = fields_beside(launch)
    for setting in launch.all("argument"):
        if setting.name.startswith("--") and not _of_own(setting, own):
            yield from _judged(launch, setting, own)


def _of_own(setting: Setting, own: frozenset[str] | None) -> bool:
    """Whether the program's own dataclasses have a field of this name, or one that it may abbreviate."""
    name = _plain(setting)
    return any(field.startswith(name) or name == f"no_{field}" for field in own or ())


def _plain(setting: Setting) -> str:
    return setting.name.removeprefix("--").partition("=")[0].replace("-", "_")


def _judged(
    launch: LaunchedJob, setting: Setting, own: frozenset[str] | None
) -> Iterator[Complaint]:
    release = launch.release(TRANSFORMERS)
    name = f"--{_plain(setting)}"
    forms = release.forms(name)
    #: A parser that is not in sight may be another one.
    level: Severity | None = None if own is not None else "warning"
    if forms and emptied(launch, setting) is None:
        faults = [_fault(setting, each) for each in forms]
        if all(faults) and not launch.declares(setting.name):
            yield Complaint(faults[-1], setting, severity=level)
    elif (
        not forms
        and own is not None
        and not _known(release, name)
        and not launch.declares(setting.name)
    ):
        message = f"no dataclass of {launch.config.program}'s HfArgumentParser has {setting.name}"
        options = (*(f"--{field}" for field in own), *release.history.names)
        yield Complaint(message, setting, help=did_you_mean(setting.name, options))


def _known(release: Release, name: str) -> bool:
    """Whether some release has the option, which another rule judges, or one that it may abbreviate."""
    positive = f"--{name.removeprefix('--no_')}"
    return positive in release.history or any(
        each.startswith(name) for each in release.history.names
    )


def _fault(setting: Setting, option: ReleasedOption) -> str:
    """The fault of the value; empty where it may be right."""
    if any(isinstance(value, Unknown) for value in setting.values):
        return ""
    texts = [str(value) for value in setting.values if value != "" or len(setting.values) == 1]
    if any(_FILLED_IN.search(text) for text in texts):
        return ""
    if not texts:
        return f"{option.name} has no value" if option.kind in NUMBERS else ""
    if len(texts) > 1 and option.kind in (*NUMBERS, "bool"):
        return f"{option.name} takes one value, not {len(texts)}: {' '.join(texts[:6])}"
    return _wrong(option, texts[0], setting)


def _wrong(option: ReleasedOption, text: str, setting: Setting) -> str:
    words = WORDS.get(option.name, ())
    if words and text not in words:
        near = did_you_mean(text, words)
        return f"{option.name} does not take `{text}`" + (f": {near}" if near else "")
    if option.kind == "bool" and text.lower() not in _TRUTH:
        return f"{option.name} is true or false, not `{text}`"
    if option.kind in NUMBERS and not re.fullmatch(NUMBERS[option.kind], text):
        kind = "whole number" if option.kind == "int" else "number"
        return f"{option.name} takes a {kind}, not `{text}`"
    if option.name in _STEPS and text_of(setting) and float(text) > 1 and float(text) % 1:
        return f"{option.name} above 1 must be whole, not {text}"
    return ""
