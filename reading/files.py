"""Files on disk -> text, in bounded time: nothing large or binary, no device, no link out of a folder."""

from __future__ import annotations

import os
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
            return Read(
                None, f"it has {status.st_size:,} bytes, and a launch file has a few thousand"
            )
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        return Read(None, getattr(error, "strerror", None) or str(error))
    if b"\0" in data or len(data) > MOST_BYTES:
        return Read(None, "it is binary" if b"\0" in data else "it is too large")
    return Read(data.decode("utf-8-sig", errors="replace"))


def folder_below(*roots: Path) -> Callable[[str], str | None]:
    """Gives the texts of files below these folders, by their path from there."""
    known = [os.path.realpath(root) for root in roots]
    found: dict[str, str | None] = {}

    def read(path: str) -> str | None:
        if path not in found:
            found[path] = next((text for root in known if (text := _below(root, path))), None)
        return found[path]

    return read


def _below(root: str, path: str) -> str | None:
    """The text of one file, unless a link leads out of the folder."""
    try:
        whole = os.path.join(root, path)
        if not os.path.isfile(whole):
            return None
        target = os.path.realpath(whole)
    except (OSError, ValueError):
        return None
    inside = target.startswith(root.rstrip(os.sep) + os.sep)
    return text_of(Path(target)).text if inside else None
