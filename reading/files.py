"""Files on disk -> text, in bounded time: regular, of bounded size, below the folders that were named."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: Launch files take a few kilobytes; larger ones are data.
MOST_BYTES = 4 * 1024 * 1024
#: The kernel generates these files while they are read: some block, some have no end.
_KERNEL_FOLDERS = ("/proc/", "/sys/")
#: Opening never waits for the writer of a pipe, and never makes a terminal the controlling one.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
#: Each byte that is not UTF-8 becomes one replacement character, so that columns stay exact.
_SURROGATES = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")


class NotReadable(ValueError):
    """Why a file that is there is not read, such as `it is no regular file`."""


class TooLarge(NotReadable):
    """A file of more bytes than are read."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"it has {size:,} bytes, at most {most:,} are read")


class Binary(NotReadable):
    """A file with a zero byte."""

    def __init__(self, line: int) -> None:
        super().__init__(f"it is binary: a zero byte in line {line}")


def text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file; raises `NotReadable`, or `OSError` where there is none or it may not be read."""
    data = first_bytes(path, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise TooLarge(max(os.stat(path).st_size, len(data)), MOST_BYTES)
    if b"\0" in data:
        raise Binary(data.count(b"\n", 0, data.index(b"\0")) + 1)
    return data.decode("utf-8-sig", errors="surrogateescape").translate(_SURROGATES)


def first_bytes(path: str | os.PathLike[str], count: int) -> bytes:
    """At most `count` bytes of a regular file; raises `NotReadable` for any other, and `OSError`."""
    if os.path.realpath(path).startswith(_KERNEL_FOLDERS):
        raise NotReadable("the kernel writes it while it is read")
    number = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise NotReadable("it is no regular file")
        with os.fdopen(number, "rb", closefd=False) as stream:
            return stream.read(count)
    finally:
        os.close(number)


@dataclass
class NamedFolders:
    """Gives the texts of files below some folders, links resolved; `refused` says why others are not read.

    Paths that are not absolute start at `start`. A call returns None for what is not there, lies outside of
    `roots` (`start` unless given), or is refused.
    """

    start: Path
    roots: Sequence[Path] = ()
    refused: dict[str, str] = field(default_factory=dict)
    _found: dict[str, str | None] = field(default_factory=dict, repr=False)

    def __call__(self, path: str) -> str | None:
        if path not in self._found:
            self._found[path] = self._read(path)
        return self._found[path]

    def _read(self, path: str) -> str | None:
        try:
            target = os.path.realpath(os.path.join(self.start, path))
            if not os.path.exists(target) or os.path.isdir(target):
                return None
            if not any(_within(target, root) for root in self.roots or (self.start,)):
                self.refused[path] = "it lies outside of the folders that were named"
                return None
            return text_of(target)
        except (OSError, ValueError) as error:
            self.refused[path] = reason_of(error)
            return None


def _within(target: str, root: Path) -> bool:
    return target.startswith(os.path.realpath(root).rstrip(os.sep) + os.sep)


def reason_of(error: OSError | ValueError) -> str:
    """Why a file is not read, in the words of a message."""
    return (getattr(error, "strerror", None) or str(error)).lower()
