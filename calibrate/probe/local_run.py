"""Runs the probe on this machine, in a Python that has PyTorch -> rows, or why there are none."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...dsl.diagnostics import Diagnostic, JobError
from .batch import program_text
from .codes import NOT_RUN

#: What the probe's own lines begin with.
_OWN = "probe: "
#: With it in the environment the probe is one rank, as torchrun starts it.
_OF_A_RANK = "RANK"
#: The process that starts the ranks has none itself.
_STARTER = ", rank -:"
#: Characters of what the probe printed that are kept.
_KEPT = 4000


def run_probe(python: str, rows: Path, options: Sequence[str]) -> None:
    """Runs the probe to its end; it appends to `rows`. Its bar is drawn on a terminal.

    Raises JobError with what the probe says of its failure.
    """
    with tempfile.TemporaryDirectory(prefix="parc-probe-") as folder:
        program = Path(folder) / "probe.py"
        program.write_text(program_text(), "utf-8")
        command = [python, str(program), str(rows), *options]
        try:
            status, said = _run(command)
        except OSError as error:
            raise _failed(
                f"`{python}` cannot be started: {(error.strerror or '').lower()}"
            ) from None
    if status:
        raise _failed(_reason(said) or f"it ended with status {status}")


def _run(command: Sequence[str]) -> tuple[int, str]:
    """The exit status, and what was printed where no person reads along."""
    seen = sys.stderr.isatty()
    kept = {name: value for name, value in os.environ.items() if name != _OF_A_RANK}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=None if seen else subprocess.PIPE,
        env={**kept, "PYTHONIOENCODING": "utf-8", "PROBE_PARENT": str(os.getpid())},
    )
    said = "" if seen else done.stderr.decode(errors="replace")
    return done.returncode, said[-_KEPT:]


def _reason(said: str) -> str:
    """The error of the first rank, else of the process that started the ranks."""
    own = [line.removeprefix(_OWN) for line in said.splitlines() if line.startswith(_OWN)]
    return min(own, key=lambda line: _STARTER in line, default="")


def _failed(why: str) -> JobError:
    help = "--python names a Python with PyTorch, --cpu tries without GPUs; rows so far are kept"
    return JobError([Diagnostic(NOT_RUN, f"the probe did not run to its end: {why}", help=help)])
