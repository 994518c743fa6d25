"""The command `parc measure`, as tests of the probe call it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parc.__main__ import main
from tests.support.ran import Ran


@pytest.fixture
def measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Runs the command in an empty folder; -o is site.par."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, output: str = "site.par") -> Ran:
        try:
            code = main(["measure", *arguments, "-o", output])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    return call
