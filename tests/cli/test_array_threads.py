"""numpy of a short command: how many threads it has, and what programs that parc starts see of that."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = (
    "import os; from parc.array_threads import VARIABLE, load_numpy; load_numpy(); "
    "import sys; print('numpy' in sys.modules, os.environ.get(VARIABLE))"
)


@pytest.mark.parametrize(
    ("given", "printed"), [({}, "True None"), ({"OPENBLAS_NUM_THREADS": "3"}, "False 3")]
)
def test_the_environment_stays_as_it_was(given: dict[str, str], printed: str) -> None:
    environment = {key: os.environ[key] for key in os.environ if key != "OPENBLAS_NUM_THREADS"}
    result = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment | given,
        check=True,
        capture_output=True,
        text=True,
    )
    assert result.stdout.strip() == printed
