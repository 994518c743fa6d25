"""docs/glossary.md: a job that uses a name of the Trainer is answered with the word beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.compiler.variables import DECISIONS
from parc.dsl.schema import CLASSES, setting_types
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text()
#: Names that say what the model is, or are files.
ELSEWHERE = {"model_name_or_path", "deepspeed"}
JOB = """
model from std.llama3_8b {{}}
cluster from std.dgx_h100 {{}}
train {{ seq_len = 8192; global_batch = 64; tokens = 1T; {name} = {value} }}
target torchtitan {{ data = "c4" }}
"""


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def trainer() -> list[tuple[str, str]]:
    """Each name of the Trainer with the parc words of its row, those of several names in their order."""
    pairs: list[tuple[str, str]] = []
    for line in section("From the Trainer and TRL").splitlines():
        theirs, ours = (
            re.findall(r"`(\w[\w.]*)", cell) for cell in (line.split("|") + [""] * 3)[1:3]
        )
        words = [word.rpartition(".")[2] for word in ours]
        if set(theirs) & ELSEWHERE or not theirs:
            continue
        aligned = zip(theirs, words, strict=True) if len(theirs) > 1 else [(theirs[0], words[0])]
        pairs += aligned
    return pairs


def test_names_of_the_trainer_are_there() -> None:
    assert len(trainer()) > 18


@pytest.mark.parametrize(("name", "word"), trainer(), ids=[name for name, _ in trainer()])
def test_a_name_of_the_trainer_is_answered_with_the_word_beside_it(
    name: str, word: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "job.par"
    job.write_text(JOB.format(name=name, value="true" if name == "bf16" else "4"))
    known = name in setting_types(CLASSES["train"])
    assert (main(["check", str(job)]) == 0) == known
    if known:  # both call it so
        assert name == word
    else:
        cures = re.findall(r"= help: (.*)", capfd.readouterr().err)
        assert re.search(rf"\b{word}\b", cures[0]), cures


def test_every_decision_is_explained() -> None:
    shown = set(re.findall(r"`(\w+)`", section("Layouts")))
    assert [each.name for each in DECISIONS if each.name not in shown] == []


def test_what_stands_for_a_setting_is_one() -> None:
    written = re.findall(r"`(train|cluster|launch)\.(\w+)`", PAGE)
    assert len(written) > 20
    assert [pair for pair in written if pair[1] not in setting_types(CLASSES[pair[0]])] == []
