"""parc smoke that cannot start: what is missing is said with a cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.__main__ import main
from parc.smoke import Interpreter
from tests.support.paths import ROOT

JOB = "examples/gpt_125m.par"


def without_frameworks(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """parc smoke with a Python that has none."""
    code = main(["smoke", JOB, *words])
    return code, capsys.readouterr().err


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("MEGATRON_ROOT", raising=False)
    found = {"torch": "2.13.0", "numpy": "2", "psutil": "7", "einops": "0.8"}
    monkeypatch.setattr("parc.smoke.look_into", lambda path, gpus: Interpreter(path, found, 0))


def test_a_missing_framework_is_said_with_a_cure(
    bare: None, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = without_frameworks("--target", "deepspeed", capsys=capsys)
    assert code == 2 and "PAR087" in told and "needs a Python with torch and deepspeed" in told
    assert "has torch 2.13.0" in told and "--python" in told and "pip install" in told


def test_megatron_without_its_repository_is_said(
    bare: None, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = without_frameworks("--target", "megatron", capsys=capsys)
    assert code == 2 and "MEGATRON_ROOT is not set" in told


def test_megatron_in_a_folder_that_is_no_checkout_is_said(
    bare: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEGATRON_ROOT", "docs")
    code, told = without_frameworks("--target", "megatron", capsys=capsys)
    assert code == 2 and "MEGATRON_ROOT=docs has no pretrain_gpt.py" in told


def test_megatron_without_what_it_imports_is_said(
    bare: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "parc.smoke.look_into", lambda path, gpus: Interpreter(path, {"torch": "2"}, 0)
    )
    code, told = without_frameworks("--target", "megatron", capsys=capsys)
    assert code == 2 and "needs a Python with torch and numpy and psutil and einops" in told
    assert "MEGATRON_ROOT names a checkout" in told


def test_a_path_that_is_no_python_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["smoke", JOB, "--python", "/no/such/python"]) == 2
    assert (
        "`/no/such/python` does not run as a Python interpreter: no such file"
        in capsys.readouterr().err
    )


def test_a_folder_in_use_is_refused(
    bare: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("")
    code, told = without_frameworks("--keep", str(tmp_path), capsys=capsys)
    assert code == 2 and "PAR089" in told and (tmp_path / "mine").exists()
