"""An exception that nothing expects -> a report file, and words for the user: it is a fault of parc.

The report has the trace, the arguments and the versions, and neither the environment nor what is in files.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from importlib.metadata import version

from parc.dsl.diagnostics import Diagnostic

from . import codes


def told(error: BaseException, arguments: Sequence[str]) -> Diagnostic:
    """Writes the report and says where it is."""
    kind = type(error).__name__
    message = f"this is a fault of parc, not of your files: {kind} in {_place(error)}"
    path = _written(_report(error, arguments))
    help = f"please report it with {path}" if path else "please report it with the command"
    return Diagnostic(codes.FAULT, message, help=help)


def _place(error: BaseException) -> str:
    """The innermost place of parc's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    own = [frame for frame in frames if frame.filename.startswith(root)] or frames
    if not own:
        return "an unknown place"
    return f"{os.path.relpath(own[-1].filename, root)}:{own[-1].lineno}"


def _report(error: BaseException, arguments: Sequence[str]) -> str:
    head = f"parc {version('parc-compiler')}, Python {platform.python_version()}, {platform.platform()}"
    trace = "".join(traceback.format_exception(error))
    return f"{head}\nparc {' '.join(map(repr, arguments))}\n\n{trace}"


def _written(report: str) -> str | None:
    """A file of its own, which no one else may read; None where none can be written."""
    try:
        number, path = tempfile.mkstemp(prefix="parc-fault-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(report)
    except OSError:
        print(report, file=sys.stderr)
        return None
    return path
