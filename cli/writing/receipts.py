"""Receipts of what this user's parc has written to a place -> whether a file is still that, and needs no
other proof.

It lies in the user's folder for state, where no repository can put it; without one nothing is remembered.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

from .folder import folder_at, made
from .paths import resolved
from .temporary import state_folder

_FOLDER = "written"


def remember(path: Path, content: bytes) -> None:
    """Note the content of a file that parc has written, or has found to be what it would write."""
    state = state_folder()
    if state is None or is_remembered(path, content):
        return
    with suppress(OSError, ValueError), made(state / _FOLDER) as folder:
        folder.replace(_name(path), _digest(content), 0o600)


def is_remembered(path: Path, content: bytes) -> bool:
    """Whether parc has written this content there the last time."""
    state = state_folder()
    with suppress(OSError, ValueError):
        if state is not None:
            with folder_at(state / _FOLDER) as folder:
                return folder.read(_name(path)) == _digest(content)
    return False


def _name(path: Path) -> str:
    """One name for each place, so that what is remembered does not grow with each run."""
    return hashlib.sha256(str(resolved(path)).encode(errors="surrogateescape")).hexdigest()


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
