"""Bounds of the processes of `parc serve` and `parc mcp`, as arguments."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes

#: Bytes of the folder for temporary files that leave multiprocessing room for its socket there.
_LONGEST_FOLDER = 74


def add_bounds(parser: ArgumentParser, seconds: int) -> None:
    add = parser.add_argument
    add(
        "--seconds",
        type=_seconds,
        default=seconds,
        metavar="S",
        help=f"the most that an answer takes, {seconds}",
    )
    add(
        "--memory",
        type=_mebibytes,
        default=4096,
        metavar="MIB",
        help="the most that a process takes, 4096 MiB",
    )


def _seconds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 3600:
        raise ArgumentTypeError(f"expected seconds from 1 to 3600, not `{text}`")
    return int(text)


def _mebibytes(text: str) -> int:
    if not text.isdecimal() or not 144 <= int(text) <= 2**20:
        raise ArgumentTypeError(f"expected MiB from 144 to 1048576, not `{text}`")
    return int(text)


def refuse_long_folder() -> None:
    """The processes talk through a socket in the folder of temporary files, whose whole name has 107 bytes
    at most. Raises `JobError` where there is no room for it."""
    from tempfile import gettempdir

    folder = gettempdir()
    if len(os.fsencode(folder)) > _LONGEST_FOLDER:
        message = (
            f"the name of the folder for temporary files is too long for a socket in it: `{folder}`"
        )
        raise JobError([Diagnostic(codes.NO_PORT, message, help="set TMPDIR to a shorter one")])
