"""An option -> what is written behind its name and is empty when it runs, and what its parser wants."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ...backends.released_options import ReleasedOption
from ...reading.bash.trace import Assignment
from ...reading.bash.values import Word, plain
from ...reading.facts import Setting, Unknown, dashed
from ..finding import Place
from .launched_job import LaunchedJob
from .release import TRANSFORMERS
from .trainer import reads_training_arguments
from .trainer_parser import fields_beside

#: A variable that is all of what stands behind an option's name.
_BEHIND = re.compile(
    r"(?P<glue>=|[ \t]+)(?P<quote>[\"']?)\$(?:\{(?P<braced>[A-Za-z_]\w*)\}|(?P<bare>[A-Za-z_]\w*))"
    r"(?P=quote)(?=[\s\"')\\;&|]|$)"
)
#: Options of launchers that take one number, and those that take one text.
_NUMBERS = """--nnodes --nproc-per-node --node-rank --master-port --max-restarts --num-nodes --num-gpus
    --num-processes --num-machines --machine-rank --main-process-port"""
_TEXTS = """--master-addr --rdzv-endpoint --rdzv-id --rdzv-backend --rdzv-conf --config-file
    --main-process-ip --hostfile --include --exclude --mixed-precision --log-dir"""
_OF_LAUNCHERS = {
    **dict.fromkeys(_NUMBERS.split(), "number"),
    **dict.fromkeys(_TEXTS.split(), "text"),
}


@dataclass(frozen=True)
class Emptied:
    """`variable` is set to nothing by `made`. `alone`: nothing is left of the word, and the next one is taken
    for the value; else the value is an empty text. `filled_in`: somebody else may set it, a file that was not
    read, or whoever reads the comment beside it."""

    variable: str
    made: Assignment
    alone: bool
    filled_in: bool

    @property
    def place(self) -> Place:
        return Place(*self.made.place, length=len(self.variable))


def emptied(launch: LaunchedJob, setting: Setting) -> Emptied | None:
    """The variable behind an option's name, where each of its assignments in the run is of nothing."""
    match = _behind(launch, setting)
    if match is None or any(isinstance(value, Unknown) for value in setting.values[:1]):
        return None
    name, alone = match["braced"] or match["bare"], match["glue"] != "=" and not match["quote"]
    made = [each for each in launch.config.assignments if each.name == name]
    if not made or not all(map(_of_nothing, made)) or not (alone or setting.values[:1] == ("",)):
        return None
    return Emptied(name, made[-1], alone, _filled_in(launch, made[-1]))


def _behind(launch: LaunchedJob, setting: Setting) -> re.Match[str] | None:
    span = launch.span(setting)
    if span is None:
        return None
    text, end = span.source.text, span.start + len(setting.name)
    return _BEHIND.match(text, end) if text[span.start : end] == setting.name else None


def _of_nothing(made: Assignment) -> bool:
    return not made.reads and made.elements is None and (not made.value or plain(made.value) == "")


def _filled_in(launch: LaunchedJob, made: Assignment) -> bool:
    path, number, _ = made.place
    lines = launch.config.texts.get(path, "").split("\n")
    noted = number <= len(lines) and "#" in lines[number - 1]
    return noted or any(each.sourced for each in launch.config.unread)


@dataclass(frozen=True)
class LeftOut:
    """An argument that the script reads as `$number`, and the command that starts it does not give: `given`
    are those that it gives, `caller` its word for the script."""

    number: int
    given: int
    caller: Word

    @property
    def place(self) -> Place:
        length = max(1, len(self.caller.lead))
        return Place(self.caller.path, self.caller.line, self.caller.column, length)


def left_out(launch: LaunchedJob, setting: Setting) -> LeftOut | None:
    """The argument behind an option's name that the script's caller, another script, leaves out."""
    value = setting.values[0] if setting.values else None
    unset = value.unset if isinstance(value, Unknown) else ""
    place, text = launch.config.command, launch.config.texts.get(setting.path, "")
    if not unset.isdigit() or _REBOUND.search(text):
        return None
    trace = launch.config.trace
    index = next((i for i, each in enumerate(trace) if each.place == place), None)
    if index is None or trace[index].called or trace[index].scripts[-1:] != (setting.path,):
        return None
    outer = [each for each in trace[:index] if each.scripts == trace[index].scripts[:-1]]
    known = [each for each in outer if not any(read.name in "@*" for read in each.reads)]
    found = (_left_out(each.words, setting.path, int(unset)) for each in reversed(known))
    return next(filter(None, found), None)


#: What moves or replaces the arguments of a script.
_REBOUND = re.compile(r"\bshift\b|\bset\s+--|\bgetopts?\b")


def _left_out(words: Sequence[Word], script: str, number: int) -> LeftOut | None:
    name = PurePath(script).name
    index = next((i for i, each in enumerate(words) if PurePath(each.tail).name == name), None)
    given = words[index + 1 :] if index is not None else ()
    if index is None or number <= len(given) or any(each.hidden for each in given):
        return None
    return LeftOut(number, len(given), words[index])


def wanted(launch: LaunchedJob, setting: Setting) -> str:
    """`number` or `text` for an option whose parser asks for one; empty where none may be given, or where
    nobody knows."""
    name = dashed(setting.name.partition("=")[0])
    if setting.scope == "launcher":
        return _OF_LAUNCHERS.get(name, "")
    if launch.parsed_by_megatron and launch.framework:
        return _kind(launch.release(launch.framework).forms(setting.name))
    if reads_training_arguments(launch) and fields_beside(launch) is not None:
        return _kind(launch.release(TRANSFORMERS).forms(setting.name))
    return ""


def _kind(forms: Iterable[ReleasedOption]) -> str:
    kinds = [_of_form(form) for form in forms]
    if not kinds or "" in kinds:
        return ""
    return "number" if set(kinds) == {"number"} else "text"


def _of_form(form: ReleasedOption) -> str:
    if form.kind in ("switch", "bool") or form.count not in ("", "+"):
        return ""
    return "number" if form.kind in ("int", "float") or form.choices else "text"
