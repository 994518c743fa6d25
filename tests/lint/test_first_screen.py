"""A first screen: errors before warnings, one message once, hints counted, never over sixty lines."""

from __future__ import annotations

import re
from pathlib import Path

from parc.lint.formats.text import SCREEN
from tests.support.linted import BAD, GOOD, Captured, findings, lint

#: A hint, and a warning, of a working launch.
SLOW = GOOD.replace("--tensor-model-parallel-size 8", "--sequence-parallel")
DEBUG = "export CUDA_LAUNCH_BLOCKING=1\n" + GOOD.partition("\n")[2]
FIRST = re.compile(r"^(error|warning|info)\[(PAR\d{3})\]: ", re.MULTILINE)


def printed(capsys: Captured, *arguments: str) -> str:
    lint(*arguments)
    return capsys.readouterr().out


def layout(tp: int, pp: int) -> str:
    """A launch that no number of GPUs of a node makes right, in words of its own."""
    return BAD.replace("parallel-size 8", f"parallel-size {tp}").replace("16", str(pp), 1)


def test_errors_come_before_warnings_and_hints_by_file(capsys: Captured) -> None:
    for name in ("a.sh", "b.sh"):
        Path(name).write_text(DEBUG + SLOW.partition("\n")[2])
    Path("c.sh").write_text(layout(8, 3))
    text = printed(capsys, "a.sh", "b.sh", "c.sh", "--hints")
    levels = [level for level, _ in FIRST.findall(text)]
    assert levels == sorted(levels, key=("error", "warning", "info").index)
    assert set(levels) == {"error", "warning", "info"}
    lines = printed(capsys, "c.sh", "b.sh", "a.sh", "--hints", "--format", "concise").splitlines()
    places = [line.split(": ")[:2] for line in lines if re.match(r"\w\.sh:\d", line)]
    keys = [(word.split()[0], place.partition(":")[0]) for place, word in places]
    order = ("error", "warning", "info").index
    assert keys == sorted(keys, key=lambda key: (order(key[0]), key[1]))


def test_one_message_in_many_places_is_one_finding(capsys: Captured) -> None:
    names = [f"{letter}.sh" for letter in "abcdefg"]
    for name in names:
        Path(name).write_text(BAD)
    selected = (*names, "--select", "PAR101")
    text = printed(capsys, *selected)
    assert [code for _, code in FIRST.findall(text)] == ["PAR101"]
    assert "  = note: also at b.sh:2, c.sh:2, d.sh:2 and 3 more places\n" in text
    assert text.splitlines()[-1].startswith("7 errors: 7 jobs")
    assert [found["path"] for found in findings(capsys, *selected)] == names
    whole = printed(capsys, *selected, "--hints")
    assert "also at b.sh:2, c.sh:2, d.sh:2, e.sh:2, f.sh:2, g.sh:2\n" in whole


def test_hints_are_a_line_of_counts(capsys: Captured) -> None:
    Path("tp.sh").write_text(SLOW)
    hints = [found for found in findings(capsys, "tp.sh") if found["severity"] == "info"]
    assert len(hints) == 1
    named = "hints: 1 × {code} {name}; --hints shows them".format(**hints[0])
    for form in ("text", "concise"):
        first, last = printed(capsys, "tp.sh", "--format", form).splitlines()
        assert first == named and last.startswith("1 hint: 1 job")
        for asked in (["--hints"], ["--fail-on", "info"]):
            shown = printed(capsys, "tp.sh", "--format", form, *asked)
            assert str(hints[0]["message"]) in shown and "hints:" not in shown


def test_a_first_screen_holds_what_is_found_in_any_folder(capsys: Captured) -> None:
    for number in range(120):
        Path(f"{number:03}.sh").write_text(layout(number + 9, 2 * number + 3))
    text = printed(capsys, ".")
    lines = text.splitlines()
    assert len(lines) == SCREEN
    assert FIRST.findall(text) == [("error", "PAR101")]
    assert re.match(r"\d{3} errors: 122 jobs", lines[-1])
    left = re.fullmatch(
        r"not on this screen: (\d+) errors in \d+ files; --format concise lists all",
        next(line for line in lines if line.startswith("not on")),
    )
    listed = [line for line in lines if re.match(r"\d+\.sh:\d+:\d+: error PAR\d{3} ", line)]
    others = re.findall(r"(?:and in|places? and|also at) (\d+) more place", text)
    every = findings(capsys, ".")
    errors = [found for found in every if found["severity"] == "error"]
    assert left and 1 + len(listed) + sum(map(int, others)) + int(left[1]) == len(errors)
    concise = printed(capsys, ".", "--format", "concise").splitlines()
    assert sum(": error PAR" in line for line in concise) == len(errors)


def test_what_fits_is_shown_in_full_before_what_does_not(capsys: Captured) -> None:
    for number in range(12):
        Path(f"{number:02}.sh").write_text(layout(8, 2 * number + 3))
    text = printed(capsys, ".", "--select", "PAR101")
    assert len(text.splitlines()) <= SCREEN and "not on this screen" not in text
    full = len(FIRST.findall(text))
    assert 1 < full < 12
    assert len(re.findall(r"^\d\d\.sh:2:19: error PAR101 ", text, re.MULTILINE)) == 12 - full


def test_a_finding_with_many_notes_is_no_screen_of_its_own(capsys: Captured) -> None:
    lost = "".join(f"    --option-{i} {i} \\\n    # --other-{i} \\\n" for i in range(20))
    Path("cut.sh").write_text(f"torchrun train.py \\\n    # --bf16 \\\n{lost}    --last 1\n")
    text = printed(capsys, "cut.sh", "--select", "PAR802")
    assert "more notes, with --hints" in text and len(text.splitlines()) < 30
    assert "more notes" not in printed(capsys, "cut.sh", "--select", "PAR802", "--hints")
