"""A program behind `cd`: its files are those of the checkout where the folder leads there, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.linted import Captured, findings

PROGRAM = """
from transformers import HfArgumentParser, TrainingArguments
args, = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
"""
RUN = (
    "torchrun --nproc-per-node 8 train.py --deepspeed conf/ds.json --output_dir out "
    "--per_device_train_batch_size four --learning_rate 1e-5"
)


@pytest.fixture()
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose script, program and config lie in three folders."""
    root = tmp_path / "house" / "llm-train"
    for folder in ("scripts", "examples/conf", ".git"):
        (root / folder).mkdir(parents=True)
    (root / "requirements.txt").write_text("transformers==5.23.0\ndeepspeed==0.19.8\n")
    (root / "examples/train.py").write_text(PROGRAM)
    (root / "examples/conf/ds.json").write_text('{"zero_optimization": {"stage": 9}}')
    monkeypatch.chdir(root)
    return root


def errors(capsys: Captured, before: str, run: str = RUN) -> set[object]:
    Path("scripts/run.sh").write_text(f"#!/bin/bash\n{before}\n{run}\n")
    found = findings(capsys, "scripts/run.sh")
    return {each["code"] for each in found if each["severity"] == "error"}


@pytest.mark.parametrize(
    "before",
    [
        "cd ../examples",
        "cd ~/llm-train/examples",
        'cd "$HOME"/src/llm-train/examples/',
        "cd; cd llm-train; cd examples",
        "ROOT=$HOME/llm-train\ncd $ROOT/examples",
        "cd $ROOT/examples",
        "cd /home/me/llm-train/examples",
        'cd "$(dirname "$0")/../examples"',
        'cd "$(dirname "${BASH_SOURCE[0]}")"; cd ../examples',
        "cd $SLURM_SUBMIT_DIR\ncd examples",
        "pushd ../examples > /dev/null",
        "pushd /opt; popd; cd ../examples",
        "cd ../examples; pushd conf; pushd /opt; popd; popd",
    ],
)
def test_files_of_the_checkout_are_read(before: str, checkout: Path, capsys: Captured) -> None:
    assert errors(capsys, before) == {"PAR416", "PAR476"}


@pytest.mark.parametrize(
    "before",
    [
        "cd ~/examples",
        "pushd /opt/examples",
        "pushd examples; popd; cd ~",
        "cd $HOME/other/examples",
        "cd /opt/examples",
        "cd ~",
        "cd -",
    ],
)
def test_files_of_another_folder_are_not(before: str, checkout: Path, capsys: Captured) -> None:
    assert errors(capsys, before) == set()


def test_a_program_by_its_path_in_a_home(checkout: Path, capsys: Captured) -> None:
    run = RUN.replace("train.py", "~/llm-train/examples/train.py")
    assert errors(capsys, "", run) == {"PAR476"}


def test_the_working_folder_is_not_known(checkout: Path, capsys: Captured) -> None:
    run = RUN.replace("conf/", "$PWD/conf/")
    assert errors(capsys, "cd ~/llm-train/examples", run) == {"PAR416", "PAR476"}
