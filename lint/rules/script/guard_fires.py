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

from collections.abc import Iterator, Sequence

from ....dsl.diagnostics import Severity
from ....reading.bash.trace import Expansion
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR809"
TITLE = "a guard that ends the script"
SEVERITY = "warning"
SOURCE = "bash(1), SHELL BUILTIN COMMANDS: exit"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for stop in launch.config.stops:
        place = Place(stop.path, stop.line, stop.column, len(stop.test))
        # An empty value in a template is how its users are told to write one.
        hint = "-z " in stop.test or stop.undecided
        given = hint or not launch.arguments and _from_outside(launch, stop.reads)
        severity: Severity | None = "info" if given else None
        yield Complaint(f"the script ends here: `{stop.test}` holds", place, severity=severity)


def _from_outside(launch: LaunchedJob, tested: Sequence[Expansion]) -> bool:
    """Whether something that is tested, or that it is computed from, is taken from the script's arguments, or
    from its environment without a value that stands in for it."""
    waiting, known = [*tested], set[Expansion]()
    while waiting:
        read = waiting.pop()
        if read in known:
            continue
        known.add(read)
        named = (each for each in launch.config.assignments if each.name == read.name)
        made = [each for each in named if read not in each.reads]
        if not made and _open(read):
            return True
        waiting += (other for each in made for other in each.reads)
    return False


def _open(read: Expansion) -> bool:
    """Whether nothing stands in for an argument, or for a variable of the environment that SLURM or bash do
    not set."""
    operator, default = read.rest.lstrip(":")[:1], read.rest.lstrip(":")[1:]
    if operator in ("-", "=") and default or read.name.startswith(("SLURM_", "BASH")):
        return False
    argument = read.name.isdecimal() and read.name != "0" or read.name in ("@", "*")
    return argument or read.name.isidentifier() and not (operator == "?" and default)
