"""What shells complete, in real shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parc.__main__ import WRONG, main

#: What bash calls when the key is pressed, with the line as it stands.
_PRESS = """
eval "$(parc completion bash)"
COMP_LINE="$1"; COMP_POINT=${#1}; COMP_TYPE=9; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete parc
printf '%s\\n' "${COMPREPLY[@]}"
"""


def _found(shell: str, script: str, line: str, folder: Path) -> list[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [shell, "-c", script, shell, line]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert not done.stderr
    return sorted(done.stdout.split())


@pytest.mark.parametrize(
    "line, expected",
    [
        ("parc pl", ["plan"]),
        ("parc plan --ta", ["--target"]),
        ("parc plan l", ["lab.par", "logs/"]),
        ("parc completion f", ["fish"]),
    ],
)
def test_bash_completes(line: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "lab.par").touch()
    (tmp_path / "lint.sh").touch()
    (tmp_path / "logs").mkdir()
    assert _found("bash", _PRESS, line, tmp_path) == expected


@pytest.mark.parametrize("shell, check", [("zsh", ["-n"]), ("fish", ["--no-execute"])])
def test_other_shells_take_what_is_printed(
    shell: str, check: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here to read what parc prints for it")
    assert main(["completion", shell]) == 0
    file = tmp_path / "completion"
    file.write_text(capsys.readouterr().out)
    done = subprocess.run([shell, *check, file], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_parc_alone_shows_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == WRONG
    shown = capsys.readouterr().err
    assert "usage: parc" in shown and "compile" in shown
