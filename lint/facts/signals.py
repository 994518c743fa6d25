"""An sbatch script -> the signal before its wall time, and those that its own commands send."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .batch import Batch, Directive

_SENDERS = re.compile(r"\b(?:scancel|kill|pkill|killall)\b([^;|&]*)")
#: Of `scancel --signal=TERM`, `kill -s USR1` or `pkill -TERM`.
_NAMED = re.compile(r"\s(?:--signal[= ]|-s[= ]?|-)(?:SIG)?([A-Z]+[12]?|\d{1,2})(?![\w-])")
_NUMBERS = {"1": "HUP", "2": "INT", "10": "USR1", "12": "USR2", "15": "TERM"}
#: What ends a program whatever it handles, or asks nothing of it.
_NO_REQUEST = frozenset({"0", "9", "KILL", "CONT", "STOP"})


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
    name = _NUMBERS.get(match[2], match[2])
    return WallSignal(name, int(match[3] or 60), "B" in (match[1] or ""), given)


def reaching(batch: Batch, asked: WallSignal) -> frozenset[str]:
    """The names of the signals that the program may get; none where the batch shell keeps its own."""
    return _sent(batch) if asked.to_shell else frozenset({asked.name})


def _sent(batch: Batch) -> frozenset[str]:
    """Names of the signals that the script's commands send, whoever gets them; TERM where none is named."""
    found: set[str] = set()
    for _, line in batch.body:
        for words in _SENDERS.findall(line):
            names = [_NUMBERS.get(name, name) for name in _NAMED.findall(words)]
            found |= set(names or ["TERM"])
    return frozenset(found - _NO_REQUEST)
