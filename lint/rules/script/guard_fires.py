"""A test of the script itself holds and ends it: what it guards against is what the script sets.

Why:
Nothing is started. The other rules judge the command behind the guard.

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

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR809"
TITLE = "a guard that ends the script"
SEVERITY = "error"
SOURCE = "bash(1), SHELL BUILTIN COMMANDS: exit"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for stop in launch.config.stops:
        place = Place(stop.path, stop.line, stop.column, len(stop.reason))
        # An empty value in a template is how its users are told to write one.
        severity: Severity | None = "info" if "-z " in stop.reason else None
        yield Complaint(f"the script ends here: `{stop.reason}` holds", place, severity=severity)
