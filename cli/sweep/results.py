"""The file of a sweep: a line that says of what it is, then a line for each point as it is solved."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import reason_of

from .. import codes
from ..printing.plan_json import JsonObject
from ..writing.durable import try_lock
from ..writing.folder import Folder, made
from ..writing.paths import InTheWay, Refused, why
from .grid import Grid
from .point import is_row

NAME = "sweep.jsonl"
#: Reasons that another run may not meet: such points are solved again.
PASSING = {codes.POINT_KILLED, codes.FAULT}
#: Bytes of the longest line that is read: a point takes a few hundred a target.
_LONGEST = 2**20
_PIECE = 2**12


class Results:
    """Rows of a grid on the disk; in memory is where each one begins, 8 bytes a point.

    A row that was begun when the process ended is dropped; rows of points that the grid lacks stay.
    """

    def __init__(self, number: int, grid: Grid, path: Path | None = None):
        """Takes an open file's number; without a path it goes with the process."""
        self._number, self._grid, self._path = number, grid, path
        self._places = array("q", [-1]) * len(grid)
        self._end = 0
        self.count = 0

    def __contains__(self, point: int) -> bool:
        return self._places[point] >= 0

    def __iter__(self) -> Iterator[tuple[int, JsonObject]]:
        """Number and row of each point that is there, in the grid's order."""
        for point, place in enumerate(self._places):
            if place >= 0:
                yield point, json.loads(b"".join(self._line(place)))

    def _line(self, place: int) -> Iterator[bytes]:
        """The line that begins there, piece by piece up to the end of the line."""
        end = b""
        while not end:
            piece, end, _ = os.pread(self._number, _PIECE, place).partition(b"\n")
            yield piece
            place += len(piece)

    def add(self, point: int, row: JsonObject) -> None:
        """Append the row of a point. Raises `JobError` where it cannot be written; earlier rows stay."""
        line = _line({"over": self._grid.at(point), **row})
        try:
            self._write(line)
        except OSError as error:
            raise JobError([self._full(error)]) from None
        self._note(point, self._end - len(line))

    def _note(self, point: int, place: int) -> None:
        self.count += self._places[point] < 0
        self._places[point] = place

    def _write(self, line: bytes) -> None:
        """Whole or not at all: what was written of it before an error is cut off again."""
        done = 0
        try:
            while done < len(line):
                done += os.pwrite(self._number, line[done:], self._end + done)
        except BaseException:
            os.ftruncate(self._number, self._end)
            raise
        self._end += len(line)

    def _full(self, error: OSError) -> Diagnostic:
        if self._path is None:
            return _no_temporary(error)
        message = f"cannot write `{self._path}`: {reason_of(error)}"
        help = f"its {self.count:,} points stay: make room, and run the same command again"
        return Diagnostic(codes.UNWRITABLE, message, help=help)

    def begin(self, head: Mapping[str, object]) -> None:
        """Say in an empty file of what it is, or read the rows of a file that says the same."""
        with os.fdopen(os.dup(self._number), "rb") as reader:
            first = reader.readline(_LONGEST)
            if first.endswith(b"\n"):
                self._end = len(first)
                while (line := reader.readline(_LONGEST)).endswith(b"\n"):
                    self._read(line)
                    self._end += len(line)
        os.ftruncate(self._number, self._end)
        if not self._end:
            self._write(_line(head))

    def _read(self, line: bytes) -> None:
        """One kept row; what is none, or could be otherwise now, is solved again."""
        try:
            row = json.loads(line)
            point = self._grid.index(row["over"])
            codes_of = {reason["code"] for reason in row["refused"]}
            whole = is_row(row)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        if whole and point is not None and not codes_of & PASSING:
            self._note(point, self._end)


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@contextmanager
def results_of(
    grid: Grid, head: Mapping[str, object], folder: Path | None, force: bool = False
) -> Iterator[Results]:
    """The results that a folder keeps, which is made; without one they last as long as the context. With
    `force` those of another sweep are dropped. `head` says of what the sweep is.

    Raises `JobError` where the folder cannot be written, another process sweeps into it, or its file is of
    another job, of other targets, of another release or not of a sweep.
    """
    if folder is None:
        with _temporary() as file:
            results = Results(file.fileno(), grid)
            try:
                results.begin(head)
            except OSError as error:
                raise JobError([_no_temporary(error)]) from None
            yield results
        return
    path = folder / NAME
    with _folder(folder) as opened, _opened(opened, path) as number:
        try:
            _judge(number, path, head, force)
            results = Results(number, grid, path)
            results.begin(head)
        except OSError as error:
            raise JobError([_unwritable(path, error)]) from None
        yield results


def _temporary() -> IO[bytes]:
    try:
        return TemporaryFile()
    except OSError as error:
        raise JobError([_no_temporary(error)]) from None


def _no_temporary(error: OSError) -> Diagnostic:
    message = f"cannot write a temporary file of points: {reason_of(error)}"
    return Diagnostic(codes.UNWRITABLE, message, help="keep them in a folder with room: -o DIR")


@contextmanager
def _folder(path: Path) -> Iterator[Folder]:
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(made(path))
        except (OSError, Refused) as error:
            raise JobError([_unwritable(path / NAME, error)]) from None
        yield folder


@contextmanager
def _opened(folder: Folder, path: Path) -> Iterator[int]:
    """The number of a plain file of one name, this process its only writer while the context lasts."""
    with ExitStack() as stack:
        try:
            number = stack.enter_context(folder.opened(NAME, os.O_RDWR | os.O_CREAT))
        except (OSError, InTheWay) as error:
            raise JobError([_unwritable(path, error)]) from None
        if os.fstat(number).st_nlink > 1:
            raise JobError([_foreign(path)])
        if try_lock(number) is False:
            raise JobError([_in_use(path)])
        yield number


def _unwritable(path: Path, error: OSError | Refused) -> Diagnostic:
    message = f"cannot write `{path}`: {why(error)}"
    return Diagnostic(codes.UNWRITABLE, message, help="choose another folder with -o")


def _judge(number: int, path: Path, head: Mapping[str, object], force: bool) -> None:
    """Raises `JobError` for a file of something else; another sweep's is emptied with `force`."""
    first = os.pread(number, _LONGEST, 0).partition(b"\n")[0]
    if _line(head).startswith(first):
        return
    found = _head(first)
    if found is None:
        raise JobError([_foreign(path)])
    if force:
        os.ftruncate(number, 0)
        return
    names = {"job": "the job", "targets": "its targets", "parc": "the release of parc"}
    other = [text for key, text in names.items() if found.get(key) != head[key]]
    differ = "differs" if other == [names["job"]] or other == [names["parc"]] else "differ"
    message = f"`{path}` is of another sweep: {' and '.join(other)} {differ}"
    help = "choose another folder with -o, or drop its points with --force"
    raise JobError([Diagnostic(codes.OTHER_SWEEP, message, help=help)])


def _head(line: bytes) -> dict[str, Any] | None:
    """The content of the first line; None where it is not of a sweep."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "parc" in found and "targets" in found else None


def _foreign(path: Path) -> Diagnostic:
    message = f"`{path}` is not a file of a sweep"
    return Diagnostic(codes.FOREIGN, message, help="choose another folder with -o")


def _in_use(path: Path) -> Diagnostic:
    message = f"another process is sweeping into `{path}`"
    return Diagnostic(codes.OUTPUT_IN_USE, message, help="wait for it, or choose another folder")
