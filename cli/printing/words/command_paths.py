"""Paths in commands that a person copies."""

from __future__ import annotations

import os
from pathlib import PurePath

from parc.backends.languages import bash


def argument(path: str | PurePath) -> str:
    """The path as one word of a shell, which no command takes for an option."""
    return str(bash.word(bash.operand(str(path))))


def program(path: str | PurePath) -> str:
    """The word of a script to start, which a shell without a folder would look for elsewhere."""
    text = str(path)
    return argument(text if os.sep in text else os.path.join(os.curdir, text))
