"""Paths of logs -> `RunLog`s, each read by a framework that knows its lines, those of the job first."""

from collections.abc import Sequence
from pathlib import Path

from ..backends import BACKENDS
from ..backends.log import RunLog
from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.inputs.files import TooLarge, bytes_of, reason_of
from ..dsl.job import Job
from .codes import NO_STEPS, OTHER_JOB, UNREADABLE

#: Bytes of the longest log that is read.
LARGEST = 512 * 2**20
#: What runs in a folder of a trial wrote: one file, or one for each node.
LOGS = "run*.log"
GZIP = b"\x1f\x8b"


def read_logs(job: Job, paths: Sequence[str]) -> list[RunLog]:
    """Every log, in order. Raises JobError with a complaint about each unusable one, and their number."""
    logs: list[RunLog] = []
    complaints: list[Diagnostic] = []
    for path in paths:
        try:
            logs.append(log_of(job, path, text_of(path)))
        except JobError as error:
            complaints += error.diagnostics
    if complaints:
        raise JobError([*complaints, counted(len(paths) - len(logs), len(paths))])
    return logs


def counted(bad: int, all_of_them: int) -> Diagnostic:
    """The number of logs that cannot be used, as a complaint."""
    message = f"{bad} of {all_of_them} logs cannot be used"
    return Diagnostic(UNREADABLE, message, severity="info", help="correct them or leave them out")


def log_of(job: Job, path: str, text: str) -> RunLog:
    """The run that a text reports. Raises JobError when no framework of the job has written it."""
    targets = [spec.name for spec in job.targets]
    for name in [*targets, *(name for name in BACKENDS if name not in targets)]:
        if log := BACKENDS[name].reader.log(text):
            break
    else:
        message = f"`{path}` has no line in which {', '.join(BACKENDS)} report a step"
        help = "give what the framework prints while it trains; docs/calibrate.md shows the lines"
        raise JobError([Diagnostic(NO_STEPS, message, help=help)])
    if log.target not in targets:
        message = f"`{path}` is of {log.target}, which the job does not have as a target"
        raise JobError([Diagnostic(OTHER_JOB, message, help=f"add `target {log.target} {{}}`")])
    return log


def text_of(path: str) -> str:
    """The text of a file, or of all logs in the folder of a trial; bytes that are no UTF-8 become replacement
    characters."""
    logs = sorted(Path(path).glob(LOGS)) if Path(path).is_dir() else []
    return "\n".join(map(_text, map(str, logs))) if logs else _text(path)


def _text(path: str) -> str:
    try:
        content = bytes_of(path, LARGEST)
    except TooLarge:
        raise _unreadable(
            path, f"is larger than {LARGEST // 2**20} MiB", "cut it to one run"
        ) from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, f"cannot be read: {reason_of(error)}", None) from None
    if not content.strip():
        raise _unreadable(path, "is empty", None)
    if b"\0" in content or content.startswith(GZIP):
        help = "unpack it first" if content.startswith(GZIP) else None
        raise _unreadable(path, "is no text", help)
    return content.decode(errors="replace")


def _unreadable(path: str, reason: str, help: str | None) -> JobError:
    return JobError([Diagnostic(UNREADABLE, f"log `{path}` {reason}", help=help)])
