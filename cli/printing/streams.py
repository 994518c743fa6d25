"""Standard output and error that take any text and outlive their reader.

A character that the stream's encoding lacks is written as `\\u00b7`, which JSON reads back. When a pipe's
reader goes, as in `parc lint . | head`, the rest is dropped and the command keeps its exit code.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import reason_of

from .. import codes

_ESCAPES = "parc.escapes"


@contextlib.contextmanager
def tolerant_streams() -> Iterator[None]:
    """Replaces `sys.stdout` and `sys.stderr` while it lasts, by `os.devnull` where they are closed."""
    codecs.register_error(_ESCAPES, _escaped)
    streams = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        tolerant: list[Any] = [_Tolerant(stream or nothing) for stream in streams]
        sys.stdout, sys.stderr = tolerant
        try:
            yield
        finally:
            sys.stdout, sys.stderr = streams


class _Tolerant:
    """A text stream in place of another, whose other attributes it has."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        encoding = self._stream.encoding or "utf-8"
        if not self._closed:
            with self._judging():
                self._stream.write(text.encode(encoding, _ESCAPES).decode(encoding))
        return len(text)

    def flush(self) -> None:
        if not self._closed:
            with self._judging():
                self._stream.flush()

    @contextlib.contextmanager
    def _judging(self) -> Iterator[None]:
        """A pipe without a reader is closed; raises `JobError` for any other error, such as a full disk."""
        try:
            yield
        except BrokenPipeError:
            self._close()
        except OSError as error:
            self._close()
            message = f"cannot write the output: {reason_of(error)}"
            raise JobError([Diagnostic(codes.UNWRITABLE, message)]) from None

    def _close(self) -> None:
        """Drops the buffer, so that Python's own flush at exit does not fail."""
        self._closed = True
        with contextlib.suppress(OSError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self._stream.fileno())
            os.close(nothing)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """The characters as `\\uXXXX`, those beyond the first plane as two of them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wide = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    units = (wide[place : place + 2].hex() for place in range(0, len(wide), 2))
    return "".join(f"\\u{unit}" for unit in units), error.end
