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

from collections.abc import Iterator

from ....backends.torchtitan.constraints.setting_values import DEGREES, SIGNED, WHOLE_NUMBERS, WORDS
from ....dsl.diagnostics import did_you_mean
from ....reading.facts import Setting, Unknown, Value
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


def _number(setting: Setting, value: Value) -> Iterator[Complaint]:
    least = SIGNED.get(setting.name, 1)
    if isinstance(value, bool) or not isinstance(value, int):
        shown = f'"{value}"' if isinstance(value, str) else value
        yield Complaint(f"{setting.name} takes a whole number, not {shown}", setting)
    elif setting.name in _DEGREES:
        return
    elif value < least or (least == -1 and value == 0):
        yield Complaint(f"{setting.name} {value} is below {max(least, 1)}", setting)
