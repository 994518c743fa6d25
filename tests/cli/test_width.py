"""What a terminal shows fits 80 columns, uses 120, and breaks lines between words and never in a number."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from parc.printing.words.paragraphs import BELOW, columns, parts, words
from tests.support.command_line import Parc

NUMBER = re.compile(r"\d[\d,.]*")
LAYOUT = "tp=2,pp=2"


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "command",
    [
        ("plan", "job.par"),
        ("plan", "job.par", "-v", "--target", "megatron"),
        ("estimate", "job.par", "--target", "megatron", "--layout", LAYOUT),
        ("explain", "job.par", "--target", "megatron", "--against", LAYOUT, "-v"),
    ],
    ids=" ".join,
)
def test_reports_fit_the_terminal(
    run: Parc, command: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    found = run(*command)
    assert found.code == 0
    assert width - 25 < max(map(len, found.out.splitlines())) <= width


def test_trials_fit_a_narrow_terminal(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("trials", "job.par", "-n", "2", "-o", "trials").out.splitlines()
    assert sum(line.startswith("  trial-") for line in lines) == 2
    assert 60 < max(map(len, lines)) <= 80


def test_a_wider_terminal_shows_the_same_words(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    for width in ("80", "120"):
        monkeypatch.setenv("COLUMNS", width)
        text = run("estimate", "job.par", "--target", "megatron", "--layout", LAYOUT).out
        shown.append(text.split())
    assert shown[0] == shown[1]


@pytest.mark.parametrize(("given", "taken"), [("20", 80), ("80", 80), ("97", 97), ("400", 120)])
def test_text_is_80_to_120_columns_wide(
    given: str, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", given)
    assert columns() == taken


def test_numbers_stay_whole_and_with_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = "tp 8 → 4 · cp 1 → 2 · memory 71.8 of 72.8 GiB, 1,024 sequences × 8,192 tokens. " * 5
    lines = words(BELOW, text.strip())
    assert len(lines) > 4 and all(len(line) <= 80 for line in lines)
    assert [number for line in lines for number in NUMBER.findall(line)] == NUMBER.findall(text)
    assert not any(re.search(r"(→|×)$|^ *(·|→|×)", line) for line in lines)


def test_a_part_longer_than_the_terminal_stays_whole() -> None:
    long = "x" * 200
    assert parts("  head  ", ["a", long, "b"]) == ["  head  a ·", f"        {long} ·", "        b"]


def test_a_plan_says_what_is_next_and_why_it_was_chosen(run: Parc) -> None:
    lines = run("plan", "job.par", "-v", "--target", "megatron").out.splitlines()
    labels = [line[2:10].strip() for line in lines if line.startswith("  ") and line[2] != " "]
    wanted = ["memory", "step", "error", "choice", "closest", "doubt", "proof"]
    assert [label for label in labels if label in wanted] == wanted
    (following,) = (line for line in lines if line.startswith("  closest"))
    assert re.search(r"% worse in mfu: .* → ", following)


@pytest.mark.parametrize("length", range(1, 40))
def test_a_dot_at_the_end_fits_as_well(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = parts(BELOW, ["x" * length, *["12345 12"] * 20])
    assert max(map(len, lines)) <= 80


FAULTS = """\
model llama from std.llama3_8b { activation = gelu; number_of_layers_of_the_whole_model = "32"; ffn = "x" }
cluster { nodes = 4 }
train { seq_len = 8192; global_batch = 512; tokens = 1T }
target torchtitan { data = "c4" }
"""


SCRIPT = (
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 30 --tensor-model-parallel-size 3 "
    "--num-attention-heads 32 --hidden-size 4096 --seq-length 4096\n"
)


def _on_a_terminal(width: int, *arguments: str, codes: Sequence[int] = (1, 2)) -> str:
    """What a terminal of so many columns shows of a command, which by default fails."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": str(width)}
    command = [sys.executable, "-m", "parc", *arguments]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):
        while block := os.read(ours, 65536):
            seen += block
    os.close(ours)
    assert process.wait(60) in codes
    return seen.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [50, 80, 120])
@pytest.mark.parametrize("command", ["check", "lint"])
def test_complaints_fit_the_terminal(
    run: Parc, command: str, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, script = tmp_path / "faults.par", tmp_path / "run.sh"
    job.write_text(FAULTS)
    script.write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")
    file = job.name if command == "check" else script.name
    whole = run(command, file)
    found = _on_a_terminal(width, command, file)
    assert width - 25 < max(map(len, found.splitlines())) <= width
    if width == 120 and command == "check":
        assert set(found.split()) == set((whole.err + whole.out).split())
    # A pipe has each sentence on one line, whatever COLUMNS says.
    assert max(map(len, (whole.err + whole.out).splitlines())) > 120


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", [["std"], ["rules"], ["rules", "PAR607"]], ids=" ".join)
def test_lists_and_pages_fit_the_terminal(run: Parc, command: list[str], width: int) -> None:
    """But for what is one word, or code."""
    found = _on_a_terminal(width, *command, codes=(0,))
    text = re.sub(r"```.*?```", "", found, flags=re.DOTALL)
    long = [line for line in text.splitlines() if len(line) > width]
    assert not [line for line in long if " " in line[21:].strip()]
    assert max(map(len, text.splitlines())) > width - 10
    assert found.split() == run(*command).out.split()


def test_a_long_path_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 100 + ".par")
    path.write_text("model {")
    assert str(path) in _on_a_terminal(80, "check", str(path))
