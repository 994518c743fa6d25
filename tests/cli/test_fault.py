"""What nothing expects is told as a fault of parc; output that cannot be written is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.commands import std

PARC = (sys.executable, "-m", "parc")
BAD = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-attention-heads 6 --tensor-model-parallel-size 3\n"


def ran(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in bash, in which $parc is parc."""
    there = {**os.environ, "parc": " ".join(PARC), **environment}
    line = ["bash", "-o", "pipefail", "-c", command]
    return subprocess.run(line, cwd=folder, env=there, capture_output=True, text=True, timeout=60)


def test_a_fault_is_told_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(arguments: object) -> int:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(std, "run", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["std", "model"]) == 3
    (report,) = tmp_path.iterdir()
    text = report.read_text()
    assert "ZeroDivisionError: a mistake of ours" in text and "parc 'std' 'model'" in text
    assert report.stat().st_mode & 0o777 == 0o600
    said = capsys.readouterr().err
    assert said.startswith("error[PAR086]: this is a fault of parc, not of your files")
    assert str(report) in said and "Traceback" not in said


def test_exit_codes_survive_a_closed_pipe(tmp_path: Path) -> None:
    (tmp_path / "bad.sh").write_text(BAD)
    for reader in ("head -c 1", "true", "sleep 0"):
        done = ran(f"$parc lint bad.sh | {reader}", tmp_path)
        assert done.returncode == 1 and not done.stderr, reader
    assert ran("$parc lint bad.sh >&-", tmp_path).returncode == 1
    assert ran("$parc check none.par 2>&-", tmp_path).returncode == 2


def test_a_full_disk_behind_stdout_is_said(tmp_path: Path) -> None:
    done = ran("$parc std > /dev/full", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error[PAR090]: cannot write the output: no space left on device")


def test_what_the_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "bad.sh").write_text(BAD.replace("6", "é"))
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = ran("$parc lint --format json bad.sh", tmp_path, **ascii_only)
    assert "\\u00e9" in done.stdout
    assert "é" in str(json.loads(done.stdout))


def test_a_lone_surrogate_of_a_config_is_shown(tmp_path: Path) -> None:
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": "\\ud800"}}')
    done = ran("$parc lint --facts ds.json", tmp_path)
    assert done.returncode in (0, 1) and "PAR086" not in done.stderr


def test_without_docstrings_help_and_pages_are_the_same(tmp_path: Path) -> None:
    for command in ("$parc --help", "$parc lint --explain PAR111"):
        with_them = ran(command, tmp_path)
        without = ran(command, tmp_path, PYTHONOPTIMIZE="2")
        assert with_them.returncode == without.returncode == 0, without.stderr
        assert with_them.stdout == without.stdout


def test_a_deleted_folder_is_said(tmp_path: Path) -> None:
    done = ran("mkdir gone && cd gone && rmdir ../gone && $parc lint a.sh", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error[PAR002]: the current folder has been deleted")
