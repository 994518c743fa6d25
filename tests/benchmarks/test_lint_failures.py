"""benchmarks/lint/lint_failures.py: reported failures are found; a made one gets its verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.lint import lint_failures
from benchmarks.lint.failures import Failure, load, load_all

CONFIG = """{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 1},
  "bf16": {"enabled": "true"}
}
"""
FACTS = """framework = "deepspeed"
source = "https://example.org/1"
message = "(none)"
cause = "a truth value in quotes"

[[wanted]]
code = "PAR404"
file = "ds.json"
line = 4

[[fixed]]
file = "ds.json"
old = '"true"'
new = 'true'
"""


def _made(root: Path, facts: str = FACTS) -> Path:
    folder = root / "made"
    folder.mkdir()
    (folder / "ds.json").write_text(CONFIG)
    (folder / "failure.toml").write_text(facts)
    return folder


def test_reported_failures_are_found(tmp_path: Path) -> None:
    """The score of the last release holds, as do those found by rules that others' files made hints; the
    working files of no failure get an error."""
    out = tmp_path / "found.json"
    assert lint_failures.main(["--json", str(out)]) == 0
    result = json.loads(out.read_text())
    assert result["decidable"] >= 134
    hints = list(result["why"].values()).count("hint")
    assert result["found"] >= 90 and result["found"] + hints >= 101
    assert len(result["missed"]) == result["decidable"] - result["found"]
    assert result["errors_of_fixed"] == {}


def test_the_files_of_a_failure_are_its_own_and_lead_to_its_source() -> None:
    failures = load_all(lint_failures.FAILURES)
    assert len({each.source for each in failures}) == len(failures)
    assert all(each.message and each.cause for each in failures)


@pytest.mark.parametrize(
    "old, new, verdict",
    [
        ("", "", "found"),
        ("line = 4", "line = 3", "elsewhere"),
        ('code = "PAR404"', 'code = ""', "missed"),
        ('code = "PAR404"', 'code = "PAR403"', "missed"),
        ("old = '\"true\"'\nnew = 'true'", "old = '\"stage\": 1'\nnew = '\"stage\": 2'", "always"),
    ],
)
def test_a_verdict(old: str, new: str, verdict: str, tmp_path: Path) -> None:
    tried = lint_failures.tried(load(_made(tmp_path, FACTS.replace(old, new, 1))))
    assert tried.verdict == verdict
    assert lint_failures.record([tried])["found"] == (verdict == "found")


def test_what_no_file_decides_is_counted_apart(tmp_path: Path) -> None:
    facts = FACTS[: FACTS.index("[[wanted]]")] + 'decidable = false\nreason = "it is in Python"\n'
    tried = lint_failures.tried(load(_made(tmp_path, facts)))
    result = lint_failures.record([tried])
    assert (result["decidable"], result["undecidable"]) == (0, {"made": "it is in Python"})


@pytest.mark.parametrize(
    "old, new, problem",
    [
        ("line = 4", "line = 40", "no line 40 in `ds.json`"),
        ("old = '\"true\"'", "old = 'enabled_'", "does not stand once"),
        ("[[fixed]]", "[[cured]]", "cured"),
        ('cause = "', 'decidable = false\ncause = "', "`reason` says why not"),
    ],
)
def test_facts_that_do_not_fit_are_refused(
    old: str, new: str, problem: str, tmp_path: Path
) -> None:
    folder = _made(tmp_path, FACTS.replace(old, new, 1))
    with pytest.raises(ValueError, match=problem):
        load(folder)


def test_lines_keep_their_ends(tmp_path: Path) -> None:
    folder = _made(tmp_path)
    (folder / "ds.json").write_bytes(CONFIG.replace("\n", "\r\n").encode())
    failure: Failure = load(folder)
    assert "\r\n" in failure.files["ds.json"]


def test_one_failure_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _made(tmp_path)
    assert lint_failures.main(["--data", str(tmp_path), "--show", "made"]) == 0
    assert "ds.json:4: warning PAR404" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        lint_failures.main(["--data", str(tmp_path), "--show", "other"])
