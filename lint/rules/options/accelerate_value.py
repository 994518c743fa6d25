"""A key or a value that accelerate's configuration may not have.

Why:
`accelerate launch` refuses keys that it does not know and words of no precision or kind of distribution.
Words for the truth values, policies and devices of FSDP and DeepSpeed stop the program when it starts.

Bad:
--- accelerate.yaml
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_WRAP
  fsdp_sharding_strategy: FULL_SHARD
mixed_precision: bf16
num_machines: 1
num_processes: 8
--- launch.sh
accelerate launch --config_file accelerate.yaml train.py --per_device_train_batch_size 4

Good:
--- accelerate.yaml
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_sharding_strategy: FULL_SHARD
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""

import re
from collections.abc import Iterator

from ....backends.huggingface.accelerate import is_config
from ....backends.huggingface.accelerate_values import (
    AS_WRITTEN,
    FIRST_ALONE,
    KEYS,
    LOADING,
    NUMBERS,
    SWITCHES,
    SYNCHRONISED,
    TRUTH,
    WORDS,
)
from ....backends.huggingface.option_rows import ACCELERATE, CONFIG_FILE, KIND, option
from ....dsl.diagnostics import Severity, did_you_mean
from ....reading.facts import Setting, text_of
from ...certainty import ITSELF
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related

CODE = "PAR491"
TITLE = "what accelerate's configuration may not say"
SEVERITY = "error"
STOPS = ITSELF
SOURCE = (
    "accelerate 1.15: commands/config/config_args.py, process_config and from_yaml_file; "
    "utils/launch.py:251-290; utils/dataclasses.py, __post_init__ of both plugins"
)
SINCE = "2026-12"
FILE = "launch.sh"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    path = _path(launch)
    if path is None or _text(launch, "compute_environment") == "AMAZON_SAGEMAKER":
        return
    kind = launch.setting("yaml", KIND)
    if kind is None:
        message = f"accelerate's configuration needs {KIND}"
        yield Complaint(message, Place(path, 1), help=f"{KIND}: MULTI_GPU")
    for setting in launch.all("yaml"):
        if setting.path == path and not _overridden(launch, setting):
            yield from _judged(launch, setting)
    yield from _unsynchronised(launch)


def _path(launch: LaunchedJob) -> str | None:
    """The file of accelerate's configuration; one without its kind is told by the option that names it."""
    kind = launch.setting("yaml", KIND)
    if kind is not None:
        return kind.path if kind.path.endswith((".yaml", ".yml")) else None
    named = text_of(launch.setting("launcher", "--config-file"))
    counts = launch.setting("yaml", ACCELERATE.fact("gpus").name)
    if named is None or counts is None or launch.setting("yaml", CONFIG_FILE) is not None:
        return None
    return (
        counts.path
        if is_config(f"{KIND}: NO\n" + launch.config.texts.get(counts.path, ""))
        else None
    )


def _overridden(launch: LaunchedJob, setting: Setting) -> bool:
    return launch.setting("launcher", option(setting.name)) is not None


def _text(launch: LaunchedJob, name: str) -> str | None:
    return text_of(launch.setting("yaml", name))


def _judged(launch: LaunchedJob, setting: Setting) -> Iterator[Complaint]:
    key = setting.name.partition(".")[0].partition("[")[0]
    if key not in KEYS:
        message = f"accelerate's configuration has no key {key}"
        yield Complaint(message, setting, help=did_you_mean(key, KEYS))
        return
    text = text_of(setting)
    switch = setting.name.rpartition(".")[2] in SWITCHES
    if (
        text is None
        or (text.lower() in ("null", "~", "") and not switch)
        or re.search(r"[<>${}]", text)
    ):
        return
    if not _is_read(launch, key, setting.name.rpartition(".")[2]):
        return
    if said := _wrong(setting.name, text):
        # accelerate compares a number with no kind, and starts without any.
        plain = setting.name == KIND and not isinstance(setting.values[0], str)
        severity: Severity | None = "warning" if plain else None
        yield Complaint(f"{setting.name} {text}: {said}", setting, severity=severity)


def _is_read(launch: LaunchedJob, block: str, key: str) -> bool:
    """Whether the kind of distribution reads a block's key."""
    kind = _text(launch, KIND)
    if block == "deepspeed_config":
        return kind == "DEEPSPEED"
    if block == "fsdp_config":
        second = _text(launch, "fsdp_config.fsdp_version") == "2"
        return kind == "FSDP" and not (second and key in FIRST_ALONE)
    return True


_EXPECTED = {"zero_stage": "0 to 3", "fsdp_version": "1 or 2"}


def _wrong(name: str, text: str) -> str:
    words, number = WORDS.get(name, ()), NUMBERS.get(name)
    as_written = text if name in AS_WRITTEN else text.lower()
    # YAML reads NO and no as false, which is spelt no here.
    if (
        words
        and as_written not in words
        and not (text.lower() == "false" and words[0].lower() == "no")
    ):
        return f"expected one of {', '.join(words[:16])}"
    if name.rpartition(".")[2] in SWITCHES and text.lower() not in TRUTH:
        return "expected true or false"
    if number is not None and not re.fullmatch(number, text.replace("_", ""), re.IGNORECASE):
        return f"expected {_EXPECTED.get(name.rpartition('.')[2], 'a number')}"
    return ""


def _unsynchronised(launch: LaunchedJob) -> Iterator[Complaint]:
    loading = launch.setting("yaml", LOADING)
    synchronised = launch.setting("yaml", SYNCHRONISED)
    if _text(launch, KIND) != "FSDP" or loading is None or synchronised is None:
        return
    given = (launch.setting("launcher", option(each.name)) for each in (loading, synchronised))
    if any(given):
        return
    if (text_of(loading) or "").lower() == "true" and (
        text_of(synchronised) or ""
    ).lower() == "false":
        message = f"{LOADING} needs {SYNCHRONISED}: true"
        yield Complaint(message, synchronised, (Related("loaded on rank 0 alone", loading),))
