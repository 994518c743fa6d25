"""A path and a text -> the file, written whole or not at all; a file that parc did not write is refused."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes


def refuse(path: Path, is_ours: Callable[[str], bool], force: bool) -> None:
    """Raises JobError where `path` cannot be written, or holds what parc did not write."""
    try:
        if path.exists() and not path.is_file():
            raise JobError([_unwritable(path, "it is no plain file")])
        if not path.absolute().parent.is_dir():
            raise JobError([_unwritable(path, "its folder does not exist")])
        if path.exists() and not force and not is_ours(path.read_bytes().decode(errors="replace")):
            message = f"`{path}` was not written by parc, or has been changed since"
            help = "choose another file with -o, or replace it with --force"
            raise JobError([Diagnostic(codes.FOREIGN, message, help=help)])
    except OSError as error:
        raise JobError([_unwritable(path, _reason(error))]) from None


def replace(path: Path, text: str) -> bool:
    """Makes `text` the content of a file; False if it already is. Raises JobError and keeps the old file."""
    place = Path(os.path.realpath(path))
    try:
        if place.exists() and place.read_bytes() == text.encode():
            return False
        _swap(place, text)
    except OSError as error:
        raise JobError([_unwritable(path, _reason(error))]) from None
    return True


def _swap(place: Path, text: str) -> None:
    """Writes a temporary file in the same folder and renames it to `place`; its mode is kept."""
    number, name = tempfile.mkstemp(prefix=".parc-", dir=place.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text.encode())
        os.chmod(name, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_mask())
        os.replace(name, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _unwritable(path: Path, reason: str) -> Diagnostic:
    return Diagnostic(
        codes.UNWRITABLE, f"cannot write `{path}`: {reason}", help="choose another with -o"
    )
