"""A condition of the goal holds in every layout of the cluster.

Why:
As `require` or `prefer` it chooses nothing, and as `forbid` it leaves no layout: another bound or another
decision was meant.

Bad:
goal { require tp <= 64 }

Good:
goal { require tp <= 4 }
"""

from collections.abc import Iterator

from parc.dsl.diagnostics import Diagnostic

from .condition_range import verdicts
from .read_job import ReadJob, warned

CODE = "PAR064"
TITLE = "a condition that is always true"
SOURCE = ""


def check(read: ReadJob) -> Iterator[Diagnostic]:
    for constraint, holds in verdicts(read.job):
        if holds:
            message = f"`{constraint.text}` holds in every layout of this cluster"
            yield warned(CODE, message, constraint.span, _HELP[constraint.kind])


_HELP = {
    "require": "it requires nothing: take it out, or say another bound",
    "prefer": "it prefers nothing: take it out, or say another bound",
    "forbid": "it forbids them all: say another bound",
}
