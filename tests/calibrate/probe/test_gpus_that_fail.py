"""The probe on a machine without a GPU, with too few and with one that does not answer: a made-up PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from parc.calibrate.probe.program.timed_gpus import main


def torch_of(count: int, answers: Callable[[int], None]) -> Any:
    """A PyTorch that sees `count` GPUs; `answers` is asked when one is taken."""
    cuda = SimpleNamespace(device_count=lambda: count, set_device=answers)
    return SimpleNamespace(cuda=cuda, __version__="2.13.0")


def silent(local: int) -> None:
    raise RuntimeError("CUDA error: uncorrectable ECC error encountered\nmore lines")


@pytest.mark.parametrize(
    ("count", "words", "says"),
    [
        (0, [], "PyTorch finds no GPU; --cpu tries the probe without"),
        (7, ["--procs", "8"], "8 GPUs are expected and PyTorch finds 7: nvidia-smi"),
    ],
)
def test_gpus_that_are_missing(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    count: int,
    words: list[str],
    says: str,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_of(count, silent))
    monkeypatch.delenv("RANK", raising=False)
    rows = tmp_path / "rows.jsonl"
    assert main([str(rows), *words]) == 1
    assert says in capsys.readouterr().err and not rows.exists()


def test_a_gpu_that_does_not_answer_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_of(8, silent))
    monkeypatch.setenv("RANK", "13")
    monkeypatch.setenv("LOCAL_RANK", "5")
    rows = tmp_path / "rows.jsonl"
    assert main([str(rows)]) == 1
    said = capsys.readouterr().err
    assert (
        "rank 13: GPU 5 does not answer, take its node out: CUDA error: uncorrectable ECC" in said
    )
    assert said.count("\n") == 1 and not rows.exists()
