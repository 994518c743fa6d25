"""Cases -> a framework's answers: a probe runs in the framework's own environment, on every core."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environments import Environment, environment
from processes import start, stop

PROBES = Path(__file__).parent / "probes"
#: Longer than a probe waits for a case.
SECONDS_PER_CASE = 310


def probe(
    name: str, program: str, cases: Sequence[dict[str, Any]], folder: Path
) -> list[dict[str, Any]]:
    """The answer to each case in its order; raises when the probe itself fails."""
    made = environment(name)
    workers = min(os.cpu_count() or 1, len(cases)) or 1
    parts = [list(cases[index::workers]) for index in range(workers)]
    running = [
        _start(made, program, part, folder / f"{program}-{index}")
        for index, part in enumerate(parts)
    ]
    try:
        for process, part in zip(running, parts, strict=True):
            process.wait(timeout=60 + SECONDS_PER_CASE * len(part))
    finally:
        for process in running:
            stop(process)
    answers = [
        _answers(folder / f"{program}-{index}", process) for index, process in enumerate(running)
    ]
    found = {answer["name"]: answer for part in answers for answer in part}
    return [found[case["name"]] for case in cases]


def _start(
    made: Environment, program: str, cases: Sequence[dict[str, Any]], stem: Path
) -> subprocess.Popen[bytes]:
    stem.with_suffix(".cases").write_text(json.dumps(cases))
    command = [str(made.python), str(PROBES / f"{program}.py")]
    command += [str(stem.with_suffix(".cases")), str(stem.with_suffix(".answers"))]
    return start(command, stem.with_suffix(".log"), made.variables())


def _answers(stem: Path, process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    if process.returncode != 0:
        log = stem.with_suffix(".log").read_text()
        raise RuntimeError(f"the probe ended with status {process.returncode}:\n{log[-4000:]}")
    return [json.loads(line) for line in stem.with_suffix(".answers").read_text().splitlines()]
