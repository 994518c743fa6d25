"""Files that are on the disk when a call returns, and locks that end with a process: for writers."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def new_file(name: str, folder: int, content: bytes, mode: int | None = None) -> Iterator[None]:
    """A file that was not there, with this content on the disk, in an open folder. Raises `OSError`.

    While the context lasts it is locked, so that others can tell it from what a killed writer left.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o666, dir_fd=folder), "wb") as file:
        try_lock(file.fileno())
        file.write(content)
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())
        yield


def sync_folder(folder: int) -> None:
    """Renames in an open folder are on the disk after this; some file systems cannot say so."""
    with suppress(OSError):
        os.fsync(folder)


def try_lock(number: int, shared: bool = False) -> bool | None:
    """Whether the open file is now locked; None where its file system has no locks."""
    try:
        fcntl.flock(number, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
