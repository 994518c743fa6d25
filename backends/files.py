"""Files on disk -> text, in bounded time: nothing large, nothing binary, no device, no link out of a folder."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: A launch file has a few kilobytes; larger ones are not opened.
MOST_BYTES = 2_000_000


@dataclass(frozen=True)
class Read:
    """The text of a file, or why there is none."""

    text: str | None
    problem: str | None = None


def text_of(path: Path) -> Read:
    """The text of a regular file; bytes that are no UTF-8 are replaced."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return Read(None, "it is no regular file")
        if status.st_size > MOST_BYTES:
            return Read(None, f"it has {status.st_size:,} bytes, and a launch file has a few thousand")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        return Read(None, getattr(error, "strerror", None) or str(error))
    if b"\0" in data or len(data) > MOST_BYTES:
        return Read(None, "it is binary" if b"\0" in data else "it is too large")
    return Read(data.decode("utf-8", errors="replace"))


def folder_below(*roots: Path) -> Callable[[str], str | None]:
    """Gives the texts of files below these folders, by their path from there."""
    known = [root.resolve() for root in roots]

    def read(path: str) -> str | None:
        for root in known:
            try:
                target = (root / path).resolve()
            except (OSError, ValueError, RuntimeError):
                continue
            if target.is_relative_to(root) and target.is_file():
                return text_of(target).text
        return None

    return read
