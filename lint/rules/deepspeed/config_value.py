"""A value that DeepSpeed does not take: a ZeRO stage above 3, an unknown device, a text for a number, a
truth value for a section, a batch below 1.

Why:
DeepSpeed stops with a message of its schema.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 4, "offload_optimizer": {"device": "gpu"}}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}
}
"""

import re
from collections.abc import Iterator

from ....backends.deepspeed.constraints.key_values import (
    ABOVE_ZERO,
    CHECKED_SINCE,
    EVEN,
    FIRST_WITH,
    HALF,
    LEAST,
    READ_BY_HAND,
    SCALE,
)
from ....backends.deepspeed.option_rows import ROWS
from ....backends.released_options import ReleasedOption
from ....compiler.target import Effect
from ....dsl.diagnostics import Severity, did_you_mean
from ....reading.facts import Unknown, Value, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.release import Release
from ...facts.vocabulary import deepspeed_keys
from ...finding import Complaint
from ...releases.history import numbers
from .unknown_section_key import split

CODE = "PAR416"
TITLE = "a value that DeepSpeed does not take"
SEVERITY = "error"
SOURCE = (
    "DeepSpeed 0.19.8 runtime/zero/config.py, runtime/config.py:590-660; "
    "Lightning-AI/pytorch-lightning#17790"
)
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    release = launch.release("deepspeed")
    yield from _later(launch, release.version)
    yield from _bounded(launch, release.version)
    for setting in launch.all("json"):
        value = setting.values[0] if len(setting.values) == 1 else None
        if (
            isinstance(value, Unknown)
            or value is None
            or value in ("auto", "null")
            or _template(value)
        ):
            continue
        said = _wrong(setting.name, value)
        if said is not None:
            severity = _severity(launch, release, setting.name, value)
            if setting.name.endswith(".type") and "." in str(value):
                # A path of Python's: a program imports the class, and takes the section out (sat does).
                severity = "info"
            message = f"{setting.name} {_shown(value)}: {said[0]}"
            effect = Effect.STOPS if _stops(release, setting.name) else None
            yield Complaint(message, setting, help=said[1], severity=severity, effect=effect)


def _severity(launch: LaunchedJob, release: Release, name: str, value: Value) -> Severity | None:
    """A hint for a known release that checks nothing in the section; what once was taken is an error where
    the release is known."""
    first = CHECKED_SINCE.get(split(name)[0])
    if first and release.release and release.history.earlier(release.release, first):
        return "info"
    return release.severity() if _once(launch, name, value) else None


def _stops(release: Release, name: str) -> bool:
    """Whether DeepSpeed is sure to read the key: by its own hand, or in a section of the known release."""
    return name in READ_BY_HAND or release.release is None or bool(release.forms(name))


def _later(launch: LaunchedJob, version: str | None) -> Iterator[Complaint]:
    """A type that came after the release, where the files or the user name it to the last digit."""
    asked = numbers(version or "")
    for (key, value), first in FIRST_WITH.items() if len(asked) == 3 else ():
        setting = launch.key(key)
        if (
            setting is not None
            and asked < numbers(first)
            and (text_of(setting) or "").lower() == value
        ):
            message = f"{key} {setting.values[0]} is not in DeepSpeed {version}: {first} is the first with it"
            yield Complaint(message, setting, help=f"deepspeed>={first}")


def _bounded(launch: LaunchedJob, version: str | None) -> Iterator[Complaint]:
    """Numbers below what DeepSpeed takes, and an odd one of a bucket that must be even."""
    stage, asked = launch.key(ROWS.fact("zero").name), numbers(version or "")
    for setting in launch.all("json"):
        value = setting.values[0] if len(setting.values) == 1 else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        said = ""
        if value < LEAST.get(setting.name, value):
            said = f"is below {LEAST[setting.name]}"
        elif value == 0 and _above_zero(launch, setting.name, asked):
            said = f"must be above 0 in DeepSpeed {version}"
        elif setting.name == EVEN and value % 2 and text_of(stage) in ("1", "2"):
            said = f"is odd, and stage {text_of(stage)} needs an even number"
        if said:
            yield Complaint(f"{setting.name} {value} {said}", setting, effect=Effect.STOPS)


def _above_zero(launch: LaunchedJob, name: str, asked: tuple[int, ...]) -> bool:
    """Whether a release that is known to the last digit takes no 0; of fp16's where its scale moves."""
    first = ABOVE_ZERO.get(name)
    if first is None or len(asked) < 3 or asked < numbers(first):
        return False
    scale, enabled = launch.key(SCALE), launch.key(HALF)
    moves = text_of(enabled) in ("True", "true") and (
        scale is None or text_of(scale) in ("0", "0.0")
    )
    return moves or not name.startswith("fp16.")


def _once(launch: LaunchedJob, name: str, value: Value) -> bool:
    """Whether a release that the job may be for takes the value: one that does not check the key, or any that
    checks it and took it."""
    release, first = launch.release("deepspeed"), CHECKED_SINCE.get(split(name)[0])
    if first and any(release.history.earlier(each, first) for each in release.possible):
        return True
    forms = launch.release("deepspeed").history.forms_of(name)
    checked = (form for form in forms if form.choices or form.kind in ("bool", "float", "str"))
    return any(_no_choice(form, value) is None is _of_kind(form.kind, value) for form in checked)


def _template(value: Value) -> bool:
    """A word that a script replaces before DeepSpeed reads it."""
    return (
        isinstance(value, str) and re.search(r"^[A-Z][A-Z0-9_]{2,}$|[${}<>@]|%s", value) is not None
    )


def _wrong(name: str, value: Value) -> tuple[str, str | None] | None:
    section, key_name = split(name)
    key = deepspeed_keys().get(section, {}).get(key_name)
    if key is not None and name == f"{section}.{key_name}":
        return _no_choice(key, value) if key.choices else _of_kind(key.kind, value)
    wanted = READ_BY_HAND.get(name)
    if wanted == "section":
        return _of_kind("section", value)
    if wanted == "count":
        whole = isinstance(value, int) and not isinstance(value, bool)
        number = value if whole and isinstance(value, int) else 0
        quoted = isinstance(value, str) and value.isdecimal()
        return None if number > 0 or quoted else ("expected a whole number above 0", None)
    if isinstance(wanted, tuple) and str(value).lower() not in wanted:
        help_text = did_you_mean(str(value).lower(), wanted)
        return "not a known type", help_text or f"{name} in {{{', '.join(wanted)}}}"
    return None


def _no_choice(key: ReleasedOption, value: Value) -> tuple[str, str | None] | None:
    name = key.name.rpartition(".")[2]
    if not key.choices or str(value) in key.choices:
        return None
    if isinstance(value, bool) and key.kind == "int":
        return None
    return f"not a known {name}", f"{name} in {{{', '.join(key.choices)}}}"


def _of_kind(kind: str, value: Value) -> tuple[str, str | None] | None:
    if kind == "section":
        return "expected a section of keys in braces", None
    pattern = _WHOLE if kind == "int" else _NUMBER
    text = isinstance(value, str) and not pattern.fullmatch(value.strip())
    if kind in ("int", "float") and text:
        return f"expected {'a whole number' if kind == 'int' else 'a number'}", None
    if kind == "int" and isinstance(value, float) and not value.is_integer():
        return "expected a whole number", None
    if kind == "bool" and not isinstance(value, bool) and str(value).lower() not in _TRUTH:
        return "expected true or false", None
    return None


#: What pydantic takes for a truth value, in any case.
_TRUTH = frozenset(
    ("true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0", "1.0", "0.0")
)


#: What pydantic takes for a whole number in quotes.
_WHOLE = re.compile(r"[+-]?\d+(?:_\d+)*(?:\.0*)?")
_NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def _shown(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
