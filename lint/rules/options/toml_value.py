"""A value of the wrong kind, or a word that torchtitan does not know: a text for a number, a schedule or a
checkpointing mode that does not exist.

Why:
torchtitan does not check its TOML values: the error comes late, and elsewhere.

Bad:
[training]
local_batch_size = "8"

[activation_checkpoint]
mode = "fulll"

Good:
[training]
local_batch_size = 8

[activation_checkpoint]
mode = "full"
"""

import re
from collections.abc import Iterator

from ....backends.torchtitan.constraints.setting_values import (
    CUSTOM_IMPORT,
    DATASET,
    DATASETS,
    DEGREES,
    FLAVOR,
    FLAVORS,
    MODEL,
    NUMBERS,
    SIGNED,
    TEXTS,
    WHOLE_NUMBERS,
    WORDS,
)
from ....compiler.target import Effect
from ....dsl.diagnostics import did_you_mean
from ....reading.facts import Setting, Unknown, Value, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import complaints

CODE = "PAR366"
TITLE = "a value that torchtitan does not take"
SEVERITY = "error"
SOURCE = (
    "torchtitan 0.2.2 config/manager.py (unchecked), distributed/activation_checkpoint.py, "
    "distributed/tensor_parallel.py:19; torch 2.13.0 pipelining/schedules.py"
)
FILE = "train.toml"
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "torchtitan=0.2.2")


#: Degrees that the product of the mesh judges.
_DEGREES = frozenset(f"parallelism.{name}_degree" for name in DEGREES)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.framework != "torchtitan":
        return
    yield from complaints("torchtitan", CODE, launch)
    for setting in launch.all("toml"):
        value = setting.values[0] if len(setting.values) == 1 else None
        if isinstance(value, Unknown) or value is None:
            continue
        legal = WORDS.get(setting.name)
        if legal and str(value).lower() not in [word.lower() for word in legal]:
            near = did_you_mean(str(value), legal)
            severity = launch.release("torchtitan").severity("warning" if near else "info")
            message = f'{setting.name} does not take "{value}"'
            listed = f"one of {', '.join(legal)}"
            yield Complaint(message, setting, help=near or listed, severity=severity)
        elif WHOLE_NUMBERS.fullmatch(setting.name):
            yield from _number(setting, value)
        elif setting.name in TEXTS and not isinstance(value, str):
            if setting.name == DATASET and _loads_its_own(launch):
                continue
            message = f"{setting.name} takes a text, not {_shown(value)}"
            yield Complaint(message, setting, effect=Effect.STOPS)
        elif setting.name in NUMBERS:
            yield from _within(setting, value)
    yield from _registered(launch)


def _loads_its_own(launch: LaunchedJob) -> bool:
    """Whether the module that the job imports deals with datasets: it need not ask for the name."""
    module = _imported(launch, text_of(launch.setting("toml", CUSTOM_IMPORT)))
    return module is None or "DATASETS" in module


def _within(setting: Setting, value: Value) -> Iterator[Complaint]:
    """A number as torch's optimizers take it."""
    least, below = NUMBERS[setting.name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"{setting.name} takes a number, not {_shown(value)}"
    elif least <= value < below:
        return
    else:
        limit = f"below {least}" if value < least else f"not below {below}"
        message = f"{setting.name} {value} is {limit}"
    yield Complaint(message, setting, effect=Effect.STOPS)


def _shown(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _registered(launch: LaunchedJob) -> Iterator[Complaint]:
    """A model, flavor or dataset that neither torchtitan 0.2 has nor the module that the job imports, which
    may make names as it runs: one beside it is close to another. A checkout of torchtitan may have others.
    """
    module = _imported(launch, text_of(launch.setting("toml", CUSTOM_IMPORT)))
    installed = launch.config.program == _TRAINER and launch.beside("torchtitan/train.py") is None
    if module is None or not installed or launch.release("torchtitan").release is None:
        return
    for setting, names in _looked_up(launch):
        text = text_of(setting)
        if setting is None or not isinstance(setting.values[0], str):
            continue
        if not text or not names or f'"{text}"' in module:
            continue
        near = did_you_mean(text, [*names, *re.findall(r'DATASETS\["(\w+)"\]', module)])
        if text.lower() not in map(str.lower, names) and (module == "" or near):
            yield Complaint(f'torchtitan has no {setting.name} "{text}"', setting, help=near)


def _looked_up(launch: LaunchedJob) -> Iterator[tuple[Setting | None, tuple[str, ...]]]:
    """Settings that are names of something, and the names that torchtitan itself has."""
    model = launch.setting("toml", MODEL)
    if model is None or isinstance(model.values[0], str):
        yield model, tuple(FLAVORS)
        yield launch.setting("toml", FLAVOR), FLAVORS.get(text_of(model) or "", ())
    yield launch.setting("toml", DATASET), DATASETS


def _imported(launch: LaunchedJob, module: str | None) -> str | None:
    """The text of a module and of those that it imports, as far as they are there; empty without a module,
    None where it is not there."""
    if module is None:
        return ""
    own = launch.beside(f"{module.replace('.', '/')}.py")
    if own is None:
        return None
    names = re.findall(r"^(?:import|from) ([\w.]+)", own, re.MULTILINE)
    beside = (launch.beside(f"{name.replace('.', '/')}.py") for name in names)
    return "\n".join([own, *filter(None, beside)])


#: What is launched of an installed torchtitan.
_TRAINER = "torchtitan.train"


def _number(setting: Setting, value: Value) -> Iterator[Complaint]:
    least = SIGNED.get(setting.name, 1)
    if isinstance(value, bool) or not isinstance(value, int):
        yield Complaint(f"{setting.name} takes a whole number, not {_shown(value)}", setting)
    elif setting.name in _DEGREES:
        return
    elif value < least or (least == -1 and value == 0):
        yield Complaint(f"{setting.name} {value} is below {max(least, 1)}", setting)
