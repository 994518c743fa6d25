"""An sbatch script -> the signal before its wall time, and those that its own commands send."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...reading.bash.trace import TracedCommand, signal_name
from .batch import Batch, Directive
from .commands import may_run
from .launched_job import LaunchedJob

_SENDERS = frozenset({"scancel", "kill", "pkill", "killall"})
#: What a program may handle; KILL ends it all the same, 0 and CONT ask nothing of it.
_REQUESTS = frozenset({"HUP", "INT", "QUIT", "USR1", "USR2", "TERM"})
_OTHERS = frozenset({"EXIT", "9", "KILL", "18", "CONT", "19", "STOP"})


@dataclass(frozen=True)
class WallSignal:
    """A signal's name, its seconds before the end, and whether the batch shell gets it and not the steps."""

    name: str
    seconds: int
    to_shell: bool
    given: Directive


def wall_signal(batch: Batch) -> WallSignal | None:
    """The signal that `--signal` asks for; None without one that can be read. It comes 60 s before the end
    unless a time is given (sbatch(1))."""
    given = batch.get("signal")
    match = re.fullmatch(
        r"(?:([RB]{1,2}):)?(?:SIG)?([A-Z]{2,6}[12]?|\d{1,2})(?:@(\d{1,6}))?",
        (given.value or "") if given else "",
    )
    if given is None or match is None:
        return None
    name = signal_name(match[2])
    return WallSignal(name, int(match[3] or 60), "B" in (match[1] or ""), given)


def reaching(launch: LaunchedJob, batch: Batch, asked: WallSignal) -> frozenset[str]:
    """The names of the signals that the program may get; none where the batch shell keeps its own."""
    if not asked.to_shell:
        return frozenset({asked.name})
    senders = (each for each in may_run(launch, batch) if each.programs[-1] in _SENDERS)
    return frozenset(name for each in senders for name in _sent(each)) & _REQUESTS


def _sent(command: TracedCommand) -> set[str]:
    """The signals of `scancel --signal=TERM`, `kill -s USR1` or `pkill -TERM`; TERM where none is named."""
    leads = (word.lead for word in command.words[1:] if not word.lead.isdecimal())
    texts = (lead.removeprefix("--signal=").removeprefix("-s").removeprefix("-") for lead in leads)
    return {signal_name(text) for text in texts} & (_REQUESTS | _OTHERS) or {"TERM"}
