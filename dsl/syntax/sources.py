"""Files -> `Source` texts, with a complaint for everything that a file can be instead of a readable text."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from .. import codes
from ..diagnostics import Source, Span
from ..inputs.files import NotReadable, TooLarge, bytes_of, is_outside, reason_of
from ..report import wrong

#: Larger files are refused: a job takes a few kilobytes.
MAX_BYTES = 256 * 1024
#: The files that this process may read, by their real paths; None where any may.
_readable: frozenset[str] | None = None
#: The bytes of files by their real paths, as they were first read; None where each reading is anew.
_kept: dict[str, bytes] | None = None


@contextmanager
def reading_once(texts: Mapping[str, str] | None = None) -> Iterator[None]:
    """Within, a file stays what it was when it was first read: jobs that are loaded one after the other are
    of one text, though somebody edits it meanwhile. `texts` by real paths stand for what is on the disk, as
    those that an editor has not saved."""
    global _kept
    given = {path: text.encode(errors="replace") for path, text in (texts or {}).items()}
    before, _kept = _kept, given
    try:
        yield
    finally:
        _kept = before


@contextmanager
def reading_only(paths: Iterable[str]) -> Iterator[None]:
    """Whatever a job says within, on any thread, no other file is read, and nothing is told of one: neither
    its text nor whether it is there."""
    global _readable
    before, _readable = _readable, frozenset(os.path.realpath(path) for path in paths)
    try:
        yield
    finally:
        _readable = before


def read(path: str, name: str, span: Span | None = None) -> tuple[Source, bytes]:
    """The text of a file and its bytes. A user knows it by `name`; `span` is the import that wants it."""
    _refuse_unopened(path, name, span)
    try:
        if not is_outside(path) and os.path.isdir(path):
            raise wrong(codes.UNREADABLE, f"`{name}` is a folder", span)
        data = _bytes(path)
    except FileNotFoundError:
        begun = (
            f"`parc init -o {name}` begins one" if span is None and name.endswith(".par") else None
        )
        raise wrong(codes.UNREADABLE, f"there is no file `{name}`", span, begun) from None
    except TooLarge as error:
        message = f"`{name}`{str(error).removeprefix('it')}"
        raise wrong(
            codes.TOO_LARGE, message, span, "a job file is a few kilobytes of text"
        ) from None
    except NotReadable as error:
        raise wrong(codes.UNREADABLE, f"`{name}`{str(error).removeprefix('it')}", span) from None
    except (OSError, ValueError) as error:
        message = f"cannot read `{name}`: {reason_of(error)}"
        raise wrong(codes.UNREADABLE, message, span) from None
    return Source(name, decode(data, name, span)), data


def _bytes(path: str) -> bytes:
    if _kept is None:
        return bytes_of(path, MAX_BYTES)
    real = os.path.realpath(path)
    if real not in _kept:
        _kept[real] = bytes_of(path, MAX_BYTES)
    return _kept[real]


def _refuse_unopened(path: str, name: str, span: Span | None) -> None:
    """Raises where the file is none of those that may be read. A zero byte is left to what opens files."""
    if _readable is None or ("\0" not in path and os.path.realpath(path) in _readable):
        return
    help = "name it where the job is opened, as in `parc serve job.par lab.par`"
    raise wrong(codes.UNREADABLE, f"`{name}` is not opened, so it is not read", span, help)


def decode(data: bytes, name: str, span: Span | None = None) -> str:
    try:
        return with_line_feeds(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = f"byte {data[error.start]:#04x} at offset {error.start}, line {line}"
        message = f"`{name}` is not UTF-8 text: {place}"
        raise wrong(codes.NOT_UTF8, message, span, "save the file as UTF-8") from None


def with_line_feeds(text: str) -> str:
    """A text whose lines end with `\\n` or `\\r\\n`, each character at its place."""
    return re.sub(r"\r(?!\n)", "\n", text)
