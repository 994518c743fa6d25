"""A condition of the goal holds in no layout of the cluster.

Why:
As `require` it leaves no layout, and as `forbid` or `prefer` it chooses nothing. Degrees divide the GPUs:
`tp == 3` is none on 16.

Bad:
goal { prefer tp == 3 }

Good:
goal { prefer tp == 4 }
"""

from collections.abc import Iterator

from parc.dsl.diagnostics import Diagnostic

from .condition_range import verdicts
from .read_job import ReadJob, warned

CODE = "PAR065"
TITLE = "a condition that is never true"
SOURCE = ""


def check(read: ReadJob) -> Iterator[Diagnostic]:
    for constraint, holds in verdicts(read.job):
        if not holds:
            message = f"`{constraint.text}` holds in no layout of this cluster"
            yield warned(CODE, message, constraint.span, _HELP[constraint.kind])


_HELP = {
    "require": "nothing can be planned: say another bound",
    "prefer": "it prefers nothing: take it out, or say another bound",
    "forbid": "it forbids nothing: take it out, or say another bound",
}
