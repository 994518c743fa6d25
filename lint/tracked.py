"""A folder -> the files of its repository that git tracks: it does so whatever .gitignore says.

git's index is read and nothing is run: its format is gitformat-index(5).
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator

from ..dsl.inputs.files import bytes_of

#: Bytes of an index: a repository of 500,000 files has about as many.
_LONGEST = 64 * 1024 * 1024
_LONGEST_POINTER = 4096
_HEADER, _FIXED, _NAME, _EXTENDED = 12, 62, 0xFFF, 0x4000
#: Bytes between the start of an entry and its flags, where names have 20 bytes (SHA-1).
_FLAGS = 60


class Tracked:
    """Paths that git tracks in the repositories of one search; each index is read once, when it is asked."""

    def __init__(self) -> None:
        self._roots: dict[str, str | None] = {}
        self._paths: dict[str, list[str]] = {}

    def __contains__(self, whole: str) -> bool:
        """Whether git tracks a file, or a file below a folder, whose path ends with a separator."""
        root = self._root(os.path.dirname(whole.rstrip(os.sep)))
        if root is None:
            return False
        if root not in self._paths:
            self._paths[root] = sorted(_paths(root))
        name = whole[len(os.path.join(root, "")) :].replace(os.sep, "/")
        paths = self._paths[root]
        at = bisect_left(paths, name)
        return at < len(paths) and (
            paths[at].startswith(name) if name.endswith("/") else paths[at] == name
        )

    def _root(self, folder: str) -> str | None:
        """The folder of the repository that a folder is in; None outside of one."""
        if folder not in self._roots:
            above = os.path.dirname(folder)
            if os.path.lexists(os.path.join(folder, ".git")):
                self._roots[folder] = folder
            else:
                self._roots[folder] = None if above == folder else self._root(above)
        return self._roots[folder]


def _paths(root: str) -> Iterator[str]:
    try:
        data = bytes_of(os.path.join(_git_folder(root), "index"), _LONGEST)
        yield from _entries(data)
    except (OSError, ValueError, IndexError):
        return


def _git_folder(root: str) -> str:
    """Where git keeps the index: `.git`, or the folder that a file of this name tells in a submodule or a
    worktree."""
    place = os.path.join(root, ".git")
    if not os.path.isfile(place):
        return place
    text = bytes_of(place, _LONGEST_POINTER).decode("utf-8", errors="replace")
    return os.path.join(root, text.removeprefix("gitdir:").strip())


def _entries(data: bytes) -> Iterator[str]:
    """The paths of an index of version 2, 3 or 4; those before the first entry that is none."""
    version, count = _number(data, 4, 4), _number(data, 8, 4)
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        return
    at, name = _HEADER, b""
    for _ in range(count):
        flags = _number(data, at + _FLAGS, 2)
        start = at + _FIXED + (2 if flags & _EXTENDED else 0)
        if version == 4:
            dropped, start = _offset(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - dropped] + data[start:end]
            at = end + 1
        else:
            length = flags & _NAME
            end = start + length if length < _NAME else data.index(b"\0", start)
            name = data[start:end]
            at += (end - at + 8) // 8 * 8
        yield os.fsdecode(name)


def _number(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise IndexError
    return int.from_bytes(data[at : at + size], "big")


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte (pack's OFS_DELTA), and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
