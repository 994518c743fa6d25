"""Each file that a command takes may be a pipe, a device, a file of the kernel, or of any content."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import parc
from parc.__main__ import main

SCRIPT = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8\n"
COMMANDS = (
    ("check", "{}"),
    ("plan", "{}"),
    ("lint", "{}"),
    ("lint", "--spec", "{}", "train.sh"),
    ("import", "{}"),
    ("calibrate", "--job", "job.par", "-o", "site.par", "{}"),
    ("calibrate", "--job", "{}", "-o", "site.par", "run.log"),
)
SETTINGS = {
    "x = " + "[" * 50_000: "nested more than 32 levels",
    ".".join("a" * 30_000) + " = 1": "nested more than 32 levels",
    "x = " + "9" * 5_000: "more than 100 digits",
    'fail-on = "eror"': "did you mean `error`?",
    "fail-on = 3": "`fail-on` is not a string",
    'site = "javascript:alert(1)"': "`site` is not a URL",
    "x = '\udcff'": "is not UTF-8 text",
    "x = ": "invalid value",
}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command says that refuses its input, within a minute: what waits for a pipe waits for ever."""
    signal.alarm(60)
    try:
        assert main(arguments) == 2, arguments
    finally:
        signal.alarm(0)
    return capsys.readouterr().err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.sh").write_text(SCRIPT)
    (tmp_path / "job.par").write_text(
        (Path(__file__).parents[2] / "examples/gpt_125m.par").read_text()
    )
    (tmp_path / "run.log").write_text("nothing\n")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/proc/kmsg")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_only_regular_files_are_opened(
    command: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("pipe", "link", "/dev/zero", "/proc/self/environ"):
        text = said(capsys, *(word.format(path) for word in command))
        assert f"`{path}`" in text
        assert "regular file" in text or "the kernel" in text


@pytest.mark.parametrize("text", SETTINGS, ids=lambda text: text[:12])
@pytest.mark.parametrize("name", ["parc.toml", "pyproject.toml"])
def test_odd_settings_are_told(
    name: str, text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "[tool.parc]\n" if name == "pyproject.toml" else ""
    (folder / name).write_text(head + text, errors="surrogateescape")
    complaint = said(capsys, "lint", "train.sh")
    assert f"{name}`" in complaint and SETTINGS[text] in complaint


def test_a_pyproject_whose_tool_is_no_table_has_no_settings_of_ours(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("tool = 3\n")
    assert main(["lint", "train.sh"]) == 0


@pytest.mark.parametrize("target", ["megatron", "deepspeed"])
@pytest.mark.parametrize(
    "change", ["cluster.network=1e-9 B/s", "cluster.gpu.memory=1 B", "train.dropout=1e-300"]
)
def test_absurd_numbers_have_an_answer(
    change: str, target: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A network of 1e-9 B/s was once a traceback with DeepSpeed."""
    code = main(["plan", "job.par", "--target", target, "--set", change])
    told = capsys.readouterr()
    assert (code == 0 and "mfu" in told.out.lower()) or (code in (1, 2) and "error[PAR" in told.err)


def test_half_of_a_surrogate_pair_in_a_configuration(folder: Path) -> None:
    (folder / "ds_config.json").write_text('{"train_batch_size": "\\ud800", "\\udcff": 1}')
    command = "torchrun --nproc-per-node 8 train.py --deepspeed_config ds_config.json\n"
    (folder / "train.sh").write_text(command)
    for form in ("text", "json", "github", "sarif", "junit"):
        assert main(["lint", "train.sh", "--format", form]) in (0, 1)


def test_one_path_is_no_list_of_letters(folder: Path) -> None:
    path = folder / "train.sh"
    assert parc.lint(str(path)) == parc.lint(path) == parc.lint([path])
