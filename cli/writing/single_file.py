"""A path and a text -> the file, written whole or not at all; a file that parc did not write is refused."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import bytes_of, reason_of

from .. import codes
from .durable import PREFIX, new_file, sync_folder, try_lock

#: Bytes of the longest file that is compared or replaced.
MOST_BYTES = 64 * 2**20
SUFFIX = ".tmp"


def refuse(
    path: Path, is_ours: Callable[[str], bool], force: bool, read: Iterable[str | Path] = ()
) -> None:
    """Raises JobError where `path` cannot be written, holds what parc did not write, or is one of the files
    that are `read`, which `force` does not replace either."""
    try:
        same = next((each for each in read if _same(path, each)), None)
        if same is not None:
            raise JobError([_unwritable(path, f"`{same}` is read")])
        if path.exists() and not path.is_file():
            raise JobError([_unwritable(path, "it is no plain file")])
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise JobError([_unwritable(path, "its folder does not exist")])
        if not os.access(folder, os.W_OK | os.X_OK):
            raise JobError([_unwritable(path, "its folder cannot be written")])
        if path.exists() and not force:
            text = bytes_of(path, MOST_BYTES).decode(errors="replace")
            if not is_ours(text):
                message = f"`{path}` was not written by parc, or has been changed since"
                help = "choose another file with -o, or replace it with --force"
                raise JobError([Diagnostic(codes.FOREIGN, message, help=help)])
    except (OSError, ValueError) as error:
        raise JobError([_unwritable(path, reason_of(error))]) from None


def _same(one: Path, other: str | Path) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def replace(path: Path, text: str) -> bool:
    """Makes `text` the content of a file; False if it already is. Raises JobError and keeps the old file."""
    content = text.encode(errors="replace")
    try:
        place = Path(os.path.realpath(path))
        if place.exists() and bytes_of(place, MOST_BYTES) == content:
            return False
        _swap(place, content)
    except (OSError, ValueError) as error:
        raise JobError([_unwritable(path, reason_of(error))]) from None
    return True


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Changes a file of somebody else, where a link leads to it, if it still holds `before`.

    Raises `JobError`, also for a file with a second name (a hard link), which would keep the old content.
    """
    try:
        place = Path(os.path.realpath(path))
        if bytes_of(place, MOST_BYTES) != before:
            raise JobError([_left(path, "is not UTF-8, or has changed meanwhile")])
        if place.stat().st_nlink > 1:
            raise JobError([_left(path, "has another name, which would keep the old text")])
        _swap(place, after)
    except (OSError, ValueError) as error:
        raise JobError([_unwritable(path, reason_of(error), help=None)]) from None


def _left(path: Path, reason: str) -> Diagnostic:
    return Diagnostic(codes.UNWRITABLE, f"`{path}` {reason}: it is left as it is")


def _swap(place: Path, content: bytes) -> None:
    """Writes a temporary file in the same folder and renames it to `place`; its mode is kept."""
    _remove_left(place.parent)
    temporary = place.with_name(f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")
    mode = place.stat().st_mode & 0o7777 if place.exists() else None
    try:
        with new_file(temporary, content, mode):
            os.replace(temporary, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(place.parent)


def _remove_left(folder: Path) -> None:
    """Temporary files of writers that were killed; one that is alive holds a lock on its own."""
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(OSError):
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if os.fstat(number).st_uid == os.geteuid() and try_lock(number):
                    os.unlink(path)
            finally:
                os.close(number)


def _unwritable(path: Path, reason: str, help: str | None = "choose another with -o") -> Diagnostic:
    return Diagnostic(codes.UNWRITABLE, f"cannot write `{path}`: {reason}", help=help)
