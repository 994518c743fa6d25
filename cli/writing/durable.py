"""What writers are made of: files that are on the disk when a call returns, locks that end with a process."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Names of temporary files and folders begin with this; the rest is random.
PREFIX = ".parc-"
#: Seconds that a writer waits for another one, and between two looks.
PATIENCE, PAUSE = 10.0, 0.05


class InUse(Exception):
    """Another process is writing there."""


@contextmanager
def new_file(path: Path, content: bytes, mode: int | None = None) -> Iterator[None]:
    """A file that was not there, with this content on the disk; follows no link. Raises `OSError`.

    While the context lasts it is locked, so that others can tell it from what a killed writer left.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        try_lock(file.fileno())
        file.write(content)
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())
        yield


def sync_folder(path: Path) -> None:
    """Renames in a folder are on the disk after this; some file systems cannot say so."""
    with suppress(OSError):
        number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """The folder, this process its only writer; False where its file system has no locks.

    Raises `InUse` when another process writes for longer than `PATIENCE`.
    """
    limit = time.monotonic() + PATIENCE
    while True:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            held = try_lock(number)
            if held is not False and _is_still(folder, number):
                yield held is True
                return
        finally:
            os.close(number)
        if time.monotonic() > limit:
            raise InUse
        time.sleep(PAUSE)


def try_lock(number: int) -> bool | None:
    """Whether the open file is now locked; None where its file system has no locks."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_still(path: Path, number: int) -> bool:
    """Whether the path still names the open folder: the one who held it before may have removed it."""
    path.mkdir(parents=True, exist_ok=True)
    return os.path.samestat(os.stat(path), os.fstat(number))
