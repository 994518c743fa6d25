"""A key that DeepSpeed does not know, in a section that it checks: zero_optimization, its offload sections,
bf16, fp16, compile, tensor_parallel, comms_logger.

Why:
DeepSpeed stops: "Extra inputs are not permitted". Keys of stage 3 may be written with and without their
prefix. Releases before 0.8 ignored such a key, so it is an error only where the release is known; what some
release had is not reported without one.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "overlap_com": true}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "overlap_comm": true}
}
"""

import re
from collections.abc import Iterator

from ....backends.deepspeed.constraints.key_values import (
    NESTED,
    SCHEDULE_ARGUMENTS,
    UNCHECKED_ONCE,
)
from ....backends.deepspeed.option_rows import SCHEDULE
from ....compiler.target import Effect
from ....dsl.diagnostics import did_you_mean
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.vocabulary import DEEPSPEED_TOP, deepspeed_keys
from ...finding import Complaint, Edit
from ...releases.history import History

CODE = "PAR403"
TITLE = "a key that DeepSpeed refuses"
SEVERITY = "error"
STOPS = "deepspeed"
SOURCE = "DeepSpeed 0.19.8 runtime/config_utils.py (extra = forbid), runtime/lr_schedules.py"
FILE = "ds_config.json"
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "deepspeed=0.19")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from _of_schedule(launch)
    release = launch.release("deepspeed")
    for setting in launch.all("json"):
        section, name = split(setting.name)
        keys = deepspeed_keys(release.release).get(section)
        if (
            keys is None
            or name in keys
            or setting.name.startswith(NESTED)
            or is_misplaced(setting.name)
            or (not release.known and _was_right(release.history, section, name))
        ):
            continue
        near = did_you_mean(name, [*keys, *(f"stage3_{key}" for key in keys)])
        edits = _renamed(launch, setting, name, near)
        message = f"{section} has no key `{name}` in {release.newest}"
        severity = release.severity("warning")
        yield Complaint(message, setting, help=near, edits=edits, severity=severity)


def _of_schedule(launch: LaunchedJob) -> Iterator[Complaint]:
    """Keys that are handed to a schedule of DeepSpeed which has no such argument."""
    kind = text_of(launch.key(SCHEDULE)) or ""
    taken = SCHEDULE_ARGUMENTS.get(kind.lower())
    for setting in launch.all("json") if taken else ():
        before, _, name = setting.name.partition("scheduler.params.")
        if not before and name and "." not in name and name not in (taken or ()):
            near = did_you_mean(name, taken or ())
            message = f"{kind} has no argument `{name}`"
            edits = _renamed(launch, setting, name, near)
            yield Complaint(message, setting, help=near, edits=edits, effect=Effect.STOPS)


def _was_right(past: History, section: str, name: str) -> bool:
    """Whether some release took the key, or did not look at it."""
    return name in UNCHECKED_ONCE.get(section, {}) or f"{section}.{name}" in past


def split(name: str) -> tuple[str, str]:
    """The checked section that a key is in, and the key below it."""
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        section = ".".join(parts[:size])
        if section in deepspeed_keys():
            return section, parts[size]
    return "", name


def is_misplaced(name: str) -> bool:
    """Whether a key belongs to the top level, which another rule judges."""
    parts = name.split(".")
    return len(parts) > 1 and parts[0] in deepspeed_keys() and parts[1] in DEEPSPEED_TOP


def _renamed(
    launch: LaunchedJob, setting: Setting, name: str, near: str | None
) -> tuple[Edit, ...]:
    span = launch.span(setting)
    if near is None or span is None:
        return ()
    match = re.search(r"`(\w+)`", near)
    position = span.source.text.find(name, span.start, span.start + len(name) + 2)
    if match is None or position < 0:
        return ()
    return (Edit(setting.path, position, position + len(name), match[1]),)
