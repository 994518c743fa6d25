"""A test of the script itself holds and ends it: what it guards against is what the script sets.

Why:
Nothing is started. The other rules judge the command behind the guard. Where the script takes what is tested
from its arguments, and none are given to parc, or from its environment without a default, it is a hint.

Bad:
MICRO=4 DP=8
GLOBAL=48
if [ $((GLOBAL % (MICRO * DP))) -ne 0 ]; then
    echo "the batch does not divide"
    exit 1
fi
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096

Good:
MICRO=4 DP=8
GLOBAL=64
if [ $((GLOBAL % (MICRO * DP))) -ne 0 ]; then
    echo "the batch does not divide"
    exit 1
fi
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096
"""

import re
from collections.abc import Iterator, Mapping

from ....dsl.diagnostics import Severity
from ....reading.facts import Unread
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR809"
TITLE = "a guard that ends the script"
SEVERITY = "warning"
SOURCE = "bash(1), SHELL BUILTIN COMMANDS: exit"


#: An assignment, and what stands behind it on its line.
_ASSIGNED = re.compile(r"(?:^|[\s;&|(])([A-Za-z_]\w*)=(?=([^;\n]{0,500}))", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
#: A variable, and what stands in for it where it is unset.
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?[-=?]([^{}]*))?\}|([A-Za-z_]\w*))")
#: What a script prints sets nothing: `echo "run: CONFIRM=YES bash $0"`.
_PRINTED = re.compile(r"^[ \t]*(?:echo|printf)[ \t][^\n$`]*$", re.MULTILINE)
#: Where a script goes through its arguments.
_OPTIONS = re.compile(r"\bgetopts\b|\$#|\bcase\s+\"?\$\{?1\b|\bfor\s+\w+\s+in\s+\"?\$[*@]")
#: An argument of the script, or all of them; `${1:-8}` has a value without one, `${1:?usage}` has none.
_ARGUMENT = re.compile(r"\$(?:[1-9@*]|\{[1-9@*]\d*(?::?\?|\}))")
#: The word of a `case`, or the end of one.
_CASE = re.compile(r"^[^\S\n]*case\s++(.+?)(?<!\s)\s++in\b|\besac\b", re.MULTILINE)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for stop in launch.config.stops:
        place = Place(stop.path, stop.line, stop.column, len(stop.reason))
        # An empty value in a template is how its users are told to write one.
        hint = "-z " in stop.reason or not launch.arguments and _from_outside(launch, stop)
        severity: Severity | None = "info" if hint else None
        yield Complaint(f"the script ends here: `{stop.reason}` holds", place, severity=severity)


def _from_outside(launch: LaunchedJob, stop: Unread) -> bool:
    """Whether something that is tested, or that it is computed from, is taken from the script's arguments, or
    from its environment without a value that stands in for it."""
    text = _PRINTED.sub("", launch.config.texts.get(stop.path, ""))
    assigned: dict[str, list[str]] = {}
    for name, value in _ASSIGNED.findall(text):
        assigned.setdefault(name, []).append(value)
    options = _OPTIONS.search(text) is not None
    waiting, known = [stop.reason, *_cases(text, stop.line)], set[str]()
    while waiting:
        tested = waiting.pop()
        if _ARGUMENT.search(tested) or any(_environment(tested, assigned)):
            return True
        for name in _NAME.findall(tested):
            values = assigned.get(name, []) if name not in known else []
            if options and len(set(values)) > 1:
                return True
            known.add(name)
            waiting += values
    return False


def _environment(tested: str, assigned: Mapping[str, list[str]]) -> Iterator[bool]:
    """For each variable of a text, whether the environment alone gives it a value."""
    for match in _VARIABLE.finditer(tested):
        name = match[1] or match[3]
        values = [value for value in assigned.get(name, []) if value != tested]
        yield not values and not match[2] and not name.startswith(("SLURM_", "BASH"))


def _cases(text: str, line: int) -> list[str]:
    """The words of the `case` statements that are open at a line, the outermost first."""
    found: list[str] = []
    for match in _CASE.finditer("\n".join(text.splitlines()[: line - 1])):
        if match[1]:
            found.append(match[1])
        elif found:
            found.pop()
    return found
