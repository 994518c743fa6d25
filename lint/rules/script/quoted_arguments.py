"""Quotes make one argument of several options, or an argument out of an empty variable.

Why:
A parser takes a text with blanks for no option, and knows no empty argument: it ends the run. torchrun and
its kind take either for the program to start.

Bad:
EXTRA="--tensor-model-parallel-size 2 --sequence-parallel"
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "$EXTRA"

Good:
EXTRA=(--tensor-model-parallel-size 2 --sequence-parallel)
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "${EXTRA[@]}"
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from ....dsl.diagnostics import Severity
from ....dsl.syntax.quoting import shortened
from ....reading.bash.values import Word
from ....reading.facts import Setting
from ....reading.launchers import entry_index
from ...facts.commands import launcher, place_of
from ...facts.empty_value import wanted
from ...facts.launched_job import LaunchedJob
from ...facts.trainer_parser import fields_beside
from ...finding import Complaint
from ..options.megatron_program import starts_megatron

CODE = "PAR816"
TITLE = "several options, or none, in one argument"
SEVERITY = "error"
STOPS = "itself"
SOURCE = "bash(1), QUOTING; CPython 3.12 argparse.py, _parse_optional; torch 2.13.0 torch/distributed/run.py"
SINCE = "2026-12"

_CURE = 'an array, and "${NAME[@]}", or no quotes'
_UNQUOTED = 'take the quotes of the empty variable away, or ${NAME:+"$NAME"}'
#: Blanks behind the name of an option, in the same word.
_BLANKS = re.compile(r"--?[A-Za-z][\w-]*\s.*", re.DOTALL)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from _of_launcher(launch)
    level: Severity | None = None if _parser_known(launch) else "warning"
    given = launch.all("argument")
    for before, setting in pairwise([None, *given]):
        if setting is None:
            continue
        if _BLANKS.fullmatch(setting.name) and not _is_value(launch, before):
            message = f"`{shortened(setting.name)}` is one argument, and no option"
            yield Complaint(message, setting, help=_CURE, severity=level)
        if "" in setting.values[1:] and wanted(launch, setting):
            message = f"an empty argument stands behind {setting.name} {setting.values[0]}"
            yield Complaint(message, setting, help=_UNQUOTED, severity=level)


def _of_launcher(launch: LaunchedJob) -> Iterator[Complaint]:
    """The word that stands where the launcher looks for its program."""
    for command in launch.config.trace:
        name = launcher(command)
        if name is None or command.place != launch.config.command:
            continue
        rest = list(command.words[command.words.index(name) + 1 :])
        wrong = _instead_of_program(rest)
        if wrong is not None:
            shown = f"`{shortened(str(wrong.text))}`" if wrong.text else "an empty argument"
            message = f"{name.text} takes {shown} for the program"
            yield Complaint(message, place_of(wrong, command), help=_CURE)


def _instead_of_program(words: list[Word]) -> Word | None:
    index = entry_index(words)
    empty = index < len(words) and words[index].text == ""
    if empty and not words[index].pieces[0].path.startswith("("):
        return words[index]
    own = (word for word in words[:index] if isinstance(word.text, str))
    return next((word for word in own if _BLANKS.fullmatch(str(word.text))), None)


def _parser_known(launch: LaunchedJob) -> bool:
    own = launch.parsed_by_megatron and starts_megatron(launch)
    return own or fields_beside(launch) is not None


def _is_value(launch: LaunchedJob, before: Setting | None) -> bool:
    """Whether the option before waits for a value, which a text with blanks may be."""
    if before is None or before.values:
        return False
    return not _parser_known(launch) or bool(wanted(launch, before))
