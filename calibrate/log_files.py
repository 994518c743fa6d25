"""Paths of logs -> `RunLog`s, each read by a framework that knows its lines, those of the job first."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..backends import BACKENDS
from ..backends.log import RunLog, with_announced
from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.inputs.files import TooLarge, bytes_of, reason_of
from ..dsl.job import Job
from .codes import NO_STEPS, OTHER_JOB, UNREADABLE

#: Bytes of the longest log that is read.
LARGEST = 512 * 2**20
#: What runs in a folder of a trial wrote: one file, or one for each node.
LOGS = "run*.log"
#: How a file begins that is packed with gzip, xz, zstd, bzip2 or zip.
PACKED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh", b"PK\x03\x04")
#: Marks of an encoding other than UTF-8, in which Windows' shells write what is redirected.
UTF16 = (b"\xff\xfe", b"\xfe\xff")


def counted(bad: int, all_of_them: int) -> Diagnostic:
    """The number of logs that cannot be used, as a complaint."""
    message = f"{bad} of {all_of_them} logs cannot be used"
    return Diagnostic(UNREADABLE, message, severity="info", help="correct them or leave them out")


def log_of(jobs: Sequence[Job], path: str, text: str) -> RunLog:
    """The run that a text reports. Raises JobError when no framework has written it, or none that a job has
    as a target."""
    targets = list(dict.fromkeys(spec.name for job in jobs for spec in job.targets))
    for name in [*targets, *(name for name in BACKENDS if name not in targets)]:
        if log := BACKENDS[name].reader.log(text):
            break
    else:
        message = f"`{path}` has no line in which {', '.join(BACKENDS)} report a step"
        help = "give what the framework prints while it trains; docs/calibrate.md shows the lines"
        raise JobError([Diagnostic(NO_STEPS, message, help=help)])
    if log.target not in targets:
        lacking = "the job does not have" if len(jobs) == 1 else "no job has"
        message = f"`{path}` is of {log.target}, which {lacking} as a target"
        raise JobError([Diagnostic(OTHER_JOB, message, help=f"add `target {log.target} {{}}`")])
    return with_announced(log, text)


def text_of(path: str) -> str:
    """The text of a file, or of all logs in the folder of a trial; bytes that are no text become replacement
    characters, zero bytes, as a node that crashed leaves them, nothing."""
    if os.path.isdir(path):
        text = "\n".join(_text(str(log)) for log in sorted(Path(path).glob(LOGS)))
    else:
        text = _text(path)
    if not text.strip():
        what = f"has no {LOGS}, or empty ones" if os.path.isdir(path) else "is empty"
        raise _unreadable(path, what, "give what the framework prints while it trains")
    return text


def _text(path: str) -> str:
    try:
        content = bytes_of(path, LARGEST)
    except TooLarge:
        raise _unreadable(
            path, f"is larger than {LARGEST // 2**20} MiB", "cut it to one run"
        ) from None
    except (OSError, ValueError) as error:
        raise _unreadable(
            path, f"cannot be read: {reason_of(error)}", "name a file that you may read"
        ) from None
    if content.startswith(PACKED):
        raise _unreadable(path, "is packed", "unpack it first")
    if content.startswith(UTF16):
        return content.decode("utf-16", errors="replace")
    return content.replace(b"\0", b"").decode("utf-8-sig", errors="replace")


def _unreadable(path: str, reason: str, help: str) -> JobError:
    return JobError([Diagnostic(UNREADABLE, f"log `{path}` {reason}", help=help)])
