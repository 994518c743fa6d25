"""Commands run in a folder with a sound job, one that no layout meets, and one with an unknown setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.__main__ import main
from tests.support.command_line import IMPOSSIBLE, JOB, Parc, Ran


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Parc:
    """Runs a command in an empty folder that holds job.par, impossible.par and wrong.par."""
    monkeypatch.chdir(tmp_path)
    Path("job.par").write_text(JOB)
    Path("impossible.par").write_text(IMPOSSIBLE)
    Path("wrong.par").write_text(JOB.replace("layers", "layer"))

    def call(*arguments: str) -> Ran:
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err and "\x1b" not in captured.out + captured.err
        return Ran(code, captured.out, captured.err)

    return call
