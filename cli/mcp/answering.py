"""A command line and its texts -> what the command prints: a function that a process of the server runs."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

from parc.dsl.diagnostics import Diagnostic, JobError, render
from parc.dsl.inputs.files import reading_below, reason_of
from parc.dsl.syntax.sources import reading_once

from .. import codes
from .tools import JOB_NAME

#: What the processes load once for all of them.
PRELOADED = (
    "parc.mcp.answering",
    "parc.__main__",
    "parc.api",
    "parc.checking",
    "parc.lint.run",
    "ortools.sat.python.cp_model",
)
JSON = "application/json"


def answer(folder: str, request: dict[str, object]) -> tuple[str, bytes]:
    """The exit code of the command `words`, and what it prints to both streams. No file outside of the
    folder is read, which is that of the request where it has one of its own.

    Raises `MemoryError` where the process may take no more of it.
    """
    words = request["words"]
    assert isinstance(words, list)
    place = str(request["folder"] or folder)
    texts = {}
    if request["job"] is not None:
        texts[os.path.join(os.path.realpath(place), JOB_NAME)] = str(request["job"])
    printed, complaints = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(complaints):
        try:
            os.chdir(place)
            with reading_below(place), reading_once(texts):
                code = _code(words)
        except OSError as error:
            code = _refused(f"cannot enter the folder that is served: {reason_of(error)}")
    said = {"code": code, "printed": printed.getvalue(), "complaints": complaints.getvalue()}
    return JSON, json.dumps(said).encode()


def _code(words: Sequence[str]) -> int:
    from parc.__main__ import FAULT, WRONG, run_command

    try:
        return run_command(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else WRONG
    except (MemoryError, OSError):
        raise
    except Exception as error:
        from ..fault import told
        from ..printing.terminal import print_diagnostics

        print_diagnostics([told(error, words[:1])])
        return FAULT


def _refused(message: str) -> int:
    from parc.__main__ import WRONG

    from ..printing.terminal import print_diagnostics

    print_diagnostics([Diagnostic(codes.NOT_SERVED, message)])
    return WRONG


def said_in_words(error: JobError) -> str:
    """The complaints of an error as a command prints them."""
    return "\n\n".join(map(render, error.diagnostics))
