"""An option has a value of the wrong kind: a word for a number, none of the legal words, no value at all,
or too many.

Why:
Megatron-LM's parser ends the job before it starts. Often a variable was empty, or a quote was lost. Where
the release is named (`--framework-version`, `fork`) that is an error. Else every release and known fork is
asked: what one of them takes is not reported, a slip is a warning, and an unknown word, which may be a
fork's, a hint.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers thirty-two \\
    --moe-token-dispatcher-type alltoall_seq

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \\
    --moe-token-dispatcher-type alltoall
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ....backends.megatron.option_groups import EXTENDED
from ....backends.megatron.option_rows import ROWS
from ....backends.option_row import OptionRow
from ....backends.released_options import ReleasedOption
from ....dsl.diagnostics import did_you_mean
from ....reading.facts import Setting, Unknown
from ...facts.launched_job import LaunchedJob
from ...facts.vocabulary import megatron_options
from ...finding import Complaint
from .megatron_program import starts_megatron
from .slips import distance

CODE = "PAR373"
TITLE = "an option with a value that Megatron-LM does not take"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = "NVIDIA/Megatron-LM, megatron/training/arguments.py of each release (lint/releases)"
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "megatron=0.19")


NUMBERS = {
    "int": r"[+-]?\d+(_\d+)*",
    "float": r"[+-]?(\d+(_\d+)*(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)",
}
INTERVAL = ROWS.setting("train", "checkpoint_interval").name
#: An option of which nothing is known beside the table of releases.
_PLAIN = OptionRow("", "other")
#: An option as the releases and forks have it that the job may be for.
Forms: TypeAlias = tuple[ReleasedOption, ...]


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not launch.parsed_by_megatron:
        return
    release = launch.release("megatron")
    for setting in launch.all("argument"):
        forms = release.forms(setting.name)
        if forms and not any(isinstance(value, Unknown) for value in setting.values):
            yield from _check(launch, setting, forms)


def _check(launch: LaunchedJob, setting: Setting, forms: Forms) -> Iterator[Complaint]:
    """Complains where no release and no fork that the job may be for takes what is given."""
    release = launch.release("megatron")
    faults = [_fault(launch, setting, option) for option in forms]
    fault = faults[-1]
    if fault is not None and None not in faults:
        severity = release.severity("error" if fault.everywhere else "info")
        yield Complaint(fault.message, setting, help=fault.help, severity=severity)


@dataclass(frozen=True)
class _Fault:
    """`everywhere`: no fork will take it either, such as a word for a number or a slip of the pen."""

    message: str
    help: str | None = None
    everywhere: bool = True


def _fault(launch: LaunchedJob, setting: Setting, option: ReleasedOption) -> _Fault | None:
    """The fault of an option's value for one of its forms."""
    name, texts = option.name, [str(value) for value in setting.values]
    texts[1:] = filter(None, texts[1:])  # an empty argument behind a value is PAR816's
    if not texts and option.count in ("", "+"):
        wanted = option.kind in NUMBERS or option.choices
        return _Fault(f"{name} has no value") if wanted and not _expanded(launch, setting) else None
    own = launch.megatron and starts_megatron(launch)
    if own and option.kind == "switch" and texts:
        return _Fault(f"{name} is a switch and takes no value, not `{texts[0]}`")
    if own and option.count == "" and len(texts) > 1 and not _template(texts):
        return _Fault(f"{name} takes one value, not {len(texts)}: {' '.join(texts[:6])}")
    found = (_wrong_value(launch, option, text) for text in texts)
    return next((fault for fault in found if fault), None)


def _wrong_value(launch: LaunchedJob, option: ReleasedOption, text: str) -> _Fault | None:
    name, pattern = option.name, NUMBERS.get(option.kind)
    if _row(name).positive and re.fullmatch(r"-\d+|0+", text):
        if name == INTERVAL and not text.strip("-0"):
            return _no_interval(launch)
        # -1 stands for a size that an evaluation takes from the checkpoint.
        return _Fault(f"{name} must be above 0, not {text}", everywhere=text != "-1")
    if not text or any(mark in text for mark in "<>$`"):
        return None
    legal = _legal(launch, option)
    if legal and text not in legal:
        help_text = did_you_mean(text, legal) or f"{name} in {{{', '.join(legal)}}}"
        slip = any(distance(text, word) <= 2 for word in legal if len(word) > 3)
        return _Fault(f"{name} does not take `{text}`", help_text, everywhere=slip)
    if pattern is not None and not legal and not re.fullmatch(pattern, text):
        kind = "whole number" if option.kind == "int" else "number"
        return _Fault(f"{name} takes a {kind}, not `{text}`")
    return None


def _no_interval(launch: LaunchedJob) -> _Fault | None:
    """0 for --save-interval: training.py never saves then, and arguments.py refuses it beside --save since
    there is --save-retain-interval."""
    if not launch.given("--save") or not launch.release("megatron").forms("--save-retain-interval"):
        return None
    return _Fault(f"{INTERVAL} must be above 0, not 0", everywhere=False)


def _legal(launch: LaunchedJob, option: ReleasedOption) -> tuple[str, ...]:
    if not launch.megatron or option.name in EXTENDED or not starts_megatron(launch):
        return ()
    return _row(option.name).checked or option.choices


def _row(name: str) -> OptionRow:
    return ROWS.by_name.get(name, _PLAIN)


def _expanded(launch: LaunchedJob, setting: Setting) -> bool:
    """Whether a variable stands where the value should: what it holds is another rule's business."""
    span = launch.span(setting)
    if span is None:
        return True
    behind = span.source.text[span.start + len(setting.name) :][:40]
    return re.match(r"[=\s]*[\"'\\]*[$`]", behind) is not None or not behind.strip()


def lacks_values(launch: LaunchedJob) -> bool:
    """Whether values come from the script's caller, who was not asked: options may then be missing too."""
    options = megatron_options()
    return any(
        not setting.values
        and (option := options.get(setting.name)) is not None
        and option.count == ""
        and option.kind != "switch"
        for setting in launch.all("argument")
    )


def _template(texts: list[str]) -> bool:
    """Whether a placeholder with blanks stands for one value."""
    capitals = all(re.fullmatch(r"[A-Z_]+", text) for text in texts[:2])
    yours = texts[0].lower() == "your"
    prose = len(texts) > 2 and all(re.fullmatch(r"[A-Za-z]+", text) for text in texts)
    return capitals or yours or prose or any("<" in text or ">" in text for text in texts)
