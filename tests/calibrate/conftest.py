"""A folder with a job, in which `parc calibrate` runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.__main__ import main
from tests.support.calibrate_command import Calibrate, Calibrated
from tests.support.simulated_logs import JOB


@pytest.fixture
def calibrate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Calibrate:
    """Runs the command in a folder with job.par; -o is site.par."""
    monkeypatch.chdir(tmp_path)
    Path("job.par").write_text(JOB)

    def call(*arguments: str, job: str = "job.par", output: str = "site.par") -> Calibrated:
        try:
            code = main(["calibrate", *arguments, "--job", job, "-o", output])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        assert not list(Path().glob(".parc-*"))
        return Calibrated(code, captured.out, captured.err)

    return call
