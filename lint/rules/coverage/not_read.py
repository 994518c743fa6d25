"""A file, or a part of a folder, that is not judged: it is beyond a limit of what parc reads.

Each file is read within bounds of its size, depth and digits, of what its aliases stand for and of the steps
that it takes; and a run within bounds of folders, files, bytes and seconds. docs/lint.md has them. The rest
is judged. A sweep of more jobs than are read of one file is a hint: nothing is wrong with it.

Why:
Launch files come from other people, and a text of a kilobyte may stand for more than any machine holds. What
was not looked at is no file without findings.

Bad:
distributed_type: MULTI_GPU
num_processes: 8
one: &one [x, x, x, x, x, x, x, x, x, x]
two: &two [*one, *one, *one, *one, *one, *one, *one, *one, *one, *one]
three: &three [*two, *two, *two, *two, *two, *two, *two, *two, *two, *two]
four: &four [*three, *three, *three, *three, *three, *three, *three, *three, *three, *three]
five: &five [*four, *four, *four, *four, *four, *four, *four, *four, *four, *four]

Good:
distributed_type: MULTI_GPU
num_processes: 8
commands: &one [x, x, x, x, x, x, x, x, x, x]
tpu_vm: [*one, *one]
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.facts import Kind
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR903"
TITLE = "a file or folder that is not read in full"
SEVERITY = "error"
SOURCE = "parc: SECURITY.md"
FILE = "accelerate.yaml"
SINCE = "2026-12"
OF_READING = True
#: The kind of what stands for the files and folders that a run leaves out.
LEFT_OUT = Kind("left out")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """A warning where the job was judged by what was read of it; a hint where whole jobs were, as many as are
    read of one file."""
    help_text = "make it smaller, or leave it out: --exclude, or `exclude` in the settings"
    if launch.kind == LEFT_OUT:
        help_text = "lint its folders one by one, or leave some out with --exclude"
    severity: Severity = "warning" if launch.facts else "error"
    for unread in launch.config.unread:
        if unread.rest:
            place = Place(unread.path, unread.line, unread.column)
            yield Complaint(f"`{unread.path}`: {unread.reason}", place, severity="info")
        elif unread.over_limit:
            message = f"`{unread.path}` is not read in full: {unread.reason}"
            place = Place(unread.path, unread.line, unread.column)
            yield Complaint(message, place, help=help_text, severity=severity)
