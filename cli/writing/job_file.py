"""The text of a job -> its file, which is never replaced unless asked."""

import os
from pathlib import Path

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .single_file import refuse, replace


def refuse_existing(path: Path, force: bool) -> None:
    """Raises `JobError` for a file that is there, unless `force`, and for a place where none can be."""
    if not force and os.path.lexists(path):
        message = f"`{path}` is there already"
        raise JobError([Diagnostic(codes.FOREIGN, message, help="another name, or --force")])
    refuse(path, lambda text: False, force)


def write_job(path: Path | None, text: str, force: bool) -> None:
    """Writes the file, or prints the text where there is no path. Raises `JobError` as
    `refuse_existing` does."""
    if path is None:
        print(text, end="")
        return
    refuse_existing(path, force)
    replace(path, text)
