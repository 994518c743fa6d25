"""Files on disk -> bytes and text, in bounded time: regular files alone, of bounded size.

Every file that a user names is read through here; what a library reads by itself is not.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..codes import UNREADABLE
from ..diagnostics import Diagnostic, JobError

#: Launch files take a few kilobytes; larger ones are data.
MOST_BYTES = 4 * 1024 * 1024
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
#: The kernel generates these files while they are read: some block, some have no end.
_KERNEL_FOLDERS = ("/proc/", "/sys/")
#: Opening never waits for the writer of a pipe, and never makes a terminal the controlling one.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
#: Each byte that is not UTF-8 becomes one replacement character, so that columns stay exact.
_SURROGATES = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")
#: The real path of the folder outside of which this process reads no file that a user names; None: anywhere.
_served: str | None = None


class NotReadable(ValueError):
    """Why a file that is there is not read, such as `it is not a regular file`."""


class OverLimit(NotReadable):
    """A file or text that is past a limit of what is read: its size, depth, digits, or what it expands to."""


class TooLarge(OverLimit):
    """A file of more bytes than are read."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"it has {size:,} bytes, at most {most:,} are read")


class Pointer(NotReadable):
    """The file that Git LFS leaves in a checkout where it has not brought the file."""

    def __init__(self) -> None:
        super().__init__("it is a pointer of Git LFS, which `git lfs pull` replaces by the file")


class Binary(NotReadable):
    """A file with a zero byte."""

    def __init__(self, line: int) -> None:
        super().__init__(f"it is binary: a zero byte in line {line}")


class Outside(NotReadable):
    """A file that `reading_below` keeps from being read."""

    def __init__(self) -> None:
        super().__init__("it lies outside of the folder that is served")


@contextmanager
def reading_below(folder: str | os.PathLike[str]) -> Iterator[None]:
    """While it lasts, every file outside of a folder is refused on every thread, there or not; links are
    followed first."""
    global _served
    before, _served = _served, os.path.realpath(folder)
    try:
        yield
    finally:
        _served = before


def is_outside(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads out of the folder of `reading_below`."""
    if _served is None:
        return False
    return not os.path.join(os.path.realpath(path), "").startswith(os.path.join(_served, ""))


def text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file; raises `NotReadable`, or `OSError` where there is none or it may not be read."""
    data = bytes_of(path, MOST_BYTES)
    if is_pointer(data):
        raise Pointer
    if b"\0" in data:
        raise Binary(data.count(b"\n", 0, data.index(b"\0")) + 1)
    return data.decode("utf-8-sig", errors="surrogateescape").translate(_SURROGATES)


def is_pointer(data: bytes) -> bool:
    """Whether the start of a file is that of a pointer of Git LFS (its docs/spec.md)."""
    return data.startswith(_POINTER)


def bytes_of(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a regular file of at most `most` bytes; raises as `first_bytes` does."""
    data = first_bytes(path, most + 1)
    if len(data) > most:
        raise TooLarge(max(os.stat(path).st_size, len(data)), most)
    return data


def first_bytes(path: str | os.PathLike[str], count: int) -> bytes:
    """At most `count` bytes of a regular file; raises `NotReadable` for any other, and `OSError`."""
    if os.path.realpath(path).startswith(_KERNEL_FOLDERS):
        raise NotReadable("it is written by the kernel while it is read")
    if is_outside(path):
        raise Outside
    number = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise NotReadable("it is not a regular file")
        with os.fdopen(number, "rb", closefd=False) as stream:
            return stream.read(count)
    finally:
        os.close(number)


def current_folder() -> Path:
    """The folder that relative paths start at. Raises `JobError` where it has been deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        message = "the current folder has been deleted"
        raise JobError([Diagnostic(UNREADABLE, message, help="change to another one")]) from None


def reason_of(error: OSError | ValueError) -> str:
    """Why a file is not read, in the words of a message."""
    return (getattr(error, "strerror", None) or str(error)).lower()
