"""Cases -> a framework's answers: a probe runs in the framework's own environment, on every core."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.acceptance.support.environments import Environment, environment
from tests.acceptance.support.processes import start, stop

PROBES = Path(__file__).parents[1] / "probes"
#: Longer than a probe waits for a case.
SECONDS_PER_CASE = 1510


def probe(
    name: str,
    program: str,
    cases: Sequence[dict[str, Any]],
    folder: Path,
    checkout: str | None = None,
) -> list[dict[str, Any]]:
    """The answer to each case in its order; raises when the probe itself fails. A checkout is imported before
    what the environment has."""
    made = environment(name)
    claims = folder / f"{program}.claims"
    claims.mkdir()
    listed = folder / f"{program}.cases"
    listed.write_text(json.dumps(cases))
    stems = [folder / f"{program}-{index}" for index in range(min(os.cpu_count() or 1, len(cases)))]
    path = {"PYTHONPATH": checkout} if checkout else {}
    running = [_start(made, program, listed, claims, stem, path) for stem in stems]
    try:
        until = time.monotonic() + 600 + SECONDS_PER_CASE * len(cases)
        for process in running:
            process.wait(timeout=max(1.0, until - time.monotonic()))
    finally:
        for process in running:
            stop(process)
    answers = [_answers(stem, process) for stem, process in zip(stems, running, strict=True)]
    found = {answer["name"]: answer for part in answers for answer in part}
    return [found[case["name"]] for case in cases]


def _start(
    made: Environment, program: str, cases: Path, claims: Path, stem: Path, path: dict[str, str]
) -> subprocess.Popen[bytes]:
    scratch = stem.with_suffix(".scratch")
    scratch.mkdir(exist_ok=True)
    command = [str(made.python), str(PROBES / f"{program}.py"), str(cases)]
    command += [str(stem.with_suffix(".answers")), str(claims)]
    return start(command, stem.with_suffix(".log"), made.variables(TMPDIR=str(scratch), **path))


def _answers(stem: Path, process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    if process.returncode != 0:
        log = stem.with_suffix(".log").read_text()
        raise RuntimeError(f"the probe ended with status {process.returncode}:\n{log[-4000:]}")
    return [json.loads(line) for line in stem.with_suffix(".answers").read_text().splitlines()]
