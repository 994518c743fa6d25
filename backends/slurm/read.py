"""An sbatch file -> the facts of its directives, as sbatch reads them."""

import itertools
import re
from collections.abc import Iterator, Mapping

from ...reading.bash.source import file_source
from ...reading.bash.values import plain
from ...reading.facts import Fact, Kind, LaunchConfig, Unread, Value, whole
from ...reading.sbatch_options import BatchOption, header, is_command

_MODULE = "module load "
#: The line above those that a job's script runs first, where there are any.
_BEGUN = "set -eo pipefail"
_CAP = re.compile(r"readonly MAX_FAILURES=(\d{1,9}) ")

#: Directive -> fact, for those whose value is taken as it stands.
_PLAIN = {
    "job-name": "job_name",
    "account": "account",
    "partition": "partition",
    "qos": "qos",
    "constraint": "constraint",
    "reservation": "reservation",
    "nodes": "nodes",
    "segment": "segment",
    "ntasks-per-node": "tasks_per_node",
    "cpus-per-task": "cpus_per_task",
    "exclusive": "exclusive",
    "output": "log",
    "open-mode": "log_mode",
}
_COUNTS = ("nodes", "segment", "ntasks-per-node", "cpus-per-task")


def read(files: Mapping[str, str]) -> LaunchConfig:
    """The facts of sbatch files; a directive below the first command counts for nothing and is unread."""
    found: list[Fact] = []
    unread: list[Unread] = []
    for path, text in files.items():
        for directive in header(file_source(path, text)):
            found += _facts(directive)
        lines = list(enumerate(text.splitlines(), 1))
        body = next((number for number, line in lines if is_command(line)), len(lines) + 1)
        for number, line in lines[body - 1 :]:
            if line.startswith("#SBATCH"):
                unread.append(Unread(f"`{line}` stands below the first command", path, number))
            elif cap := _CAP.match(line):
                found.append(Fact("max_failures", int(cap[1]), path, number, cap.start(1) + 1))
    return LaunchConfig(Kind(scheduler="slurm"), tuple(found), tuple(unread))


def from_options(options: Mapping[str, Value]) -> dict[str, Value]:
    """The facts that directives state; `time` and `signal` are seconds, as in a `launch slurm` block."""
    facts: dict[str, Value] = {}
    for name, value in options.items():
        if name in _PLAIN:
            facts[_PLAIN[name]] = _value(name, value)
        facts |= dict(_derived(name, str(value)))
    return facts


def seconds_from(text: str) -> int | None:
    """Seconds of a SLURM time: minutes[:seconds], hours:minutes:seconds or days-hours[:minutes[:seconds]]."""
    match = re.fullmatch(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", text)
    if match is None:
        return None
    days, *rest = (None if part is None else int(part) for part in match.groups())
    parts = [part for part in rest if part is not None]
    if days is None and len(parts) < 3:
        parts = [0, *parts]
    hours, minutes, seconds = (*parts, 0, 0)[:3]
    return ((days or 0) * 24 + hours) * 3600 + minutes * 60 + seconds


def prepared(text: str) -> tuple[list[str], list[str]]:
    """The modules and the other lines that parc's script runs before the job: `modules` and `setup`."""
    lines = [line for line in text.splitlines() if line]
    if _BEGUN not in lines:
        return [], []
    after = lines[lines.index(_BEGUN) + 1 :]
    lines = list(itertools.takewhile(lambda line: line != "set -euo pipefail", after))
    modules = list(itertools.takewhile(lambda line: line.startswith(_MODULE), lines))
    return [line.removeprefix(_MODULE) for line in modules], lines[len(modules) :]


def _facts(directive: BatchOption) -> Iterator[Fact]:
    value = True if directive.value is None else str(plain(directive.value))
    word = directive.word
    for name, fact in from_options({directive.name: value}).items():
        yield Fact(name, fact, word.path, word.line, word.column)


def _value(name: str, value: Value) -> Value:
    count = whole(str(value)) if name in _COUNTS else None
    return value if count is None else count


def _derived(name: str, text: str) -> Iterator[tuple[str, Value]]:
    if name == "gpus-per-node" or (name == "gres" and text.startswith("gpu")):
        *kind, count = text.removeprefix("gpu:").split(":")
        if (gpus := whole(count)) is not None:
            yield "gpus_per_node", gpus
        if kind:
            yield "gpu_type", kind[-1]
    elif name == "time" and (seconds := seconds_from(text)) is not None:
        yield "time", seconds
    elif name == "signal" and (match := re.fullmatch(r"B:(?:SIG)?([A-Z0-9]+)@(\d{1,9})", text)):
        yield "signal_name", match[1]
        yield "signal", int(match[2])
    elif name in ("requeue", "no-requeue"):
        yield "requeue", name == "requeue"
