"""What a project accepts: levels of its own, exceptions with reasons, a baseline, a dated set of rules."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from parc.lint import judging
from parc.lint.accepted.exceptions import excused, load_exceptions
from parc.lint.finding import Finding
from parc.lint.judging import LintOptions
from parc.lint.rules import RULES
from tests.support.linted import BAD, Captured, codes, findings, lint

WORLD = "PAR101"


def test_a_project_has_levels_of_its_own(capsys: Captured) -> None:
    Path("parc.toml").write_text('[severity]\nPAR1 = "info"\nworld-size = "warning"\n')
    (found,) = findings(capsys, "bad.sh", "--select", WORLD)
    assert found["severity"] == "warning" and lint("bad.sh", "--select", WORLD) == 0
    Path("parc.toml").write_text('[severity]\nPAR101 = "fatal"\n')
    assert lint("bad.sh") == 2 and "`severity` has no level `fatal`" in capsys.readouterr().err
    Path("parc.toml").write_text('[severity]\nPAR999 = "info"\n')
    assert lint("bad.sh") == 2 and "there is no rule `PAR999`" in capsys.readouterr().err


EXCEPTIONS = """# What we live with.
[[exception]]
rule = "world-size"
path = "b*.sh"
reason = "the other half of the nodes comes by --nnodes of the caller"
until = 2026-12-01

[[exception]]
rule = "PAR655"
path = "good.sh"
reason = "nothing to requeue"
"""


def test_exceptions_hide_end_and_idle(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("accepted.toml").write_text(EXCEPTIONS)
    exceptions = load_exceptions(Path("accepted.toml"))
    Path("parc.toml").write_text('select = ["PAR101"]\n')
    found = judging_findings("bad.sh")
    assert [each.code for each in found] == [WORLD]
    left, told = excused(found, exceptions, ["bad.sh"], date(2026, 11, 30))
    assert (left, told) == ([], [])
    left, told = excused(found, exceptions, ["bad.sh", "good.sh"], date(2026, 12, 1))
    assert left == found
    assert [(each.code, each.diagnostic.span.line if each.diagnostic.span else 0) for each in told] == [
        ("PAR902", 2), ("PAR902", 8),
    ]  # fmt: skip
    assert (
        "has ended" in told[0].diagnostic.message and "covers nothing" in told[1].diagnostic.message
    )


def judging_findings(path: str) -> list[Finding]:
    from parc.lint.judging import findings as said
    from parc.lint.run import lint_paths

    return said(lint_paths(path, LintOptions(select=(WORLD,)), {}))


def test_exceptions_of_the_settings_are_read_beside_them(capsys: Captured) -> None:
    Path("lint").mkdir()
    Path("lint/accepted.toml").write_text(EXCEPTIONS.replace("until = 2026-12-01\n", ""))
    Path("parc.toml").write_text('exceptions = "lint/accepted.toml"\n')
    assert WORLD not in codes(capsys, "bad.sh")
    Path("lint/accepted.toml").write_text(EXCEPTIONS.replace("reason", "why"))
    assert lint("bad.sh") == 2
    assert "lint/accepted.toml:2:1" in (told := capsys.readouterr().err) and "reason" in told
    Path("parc.toml").write_text('exceptions = "none.toml"\n')
    assert lint("bad.sh") == 2 and "none.toml" in capsys.readouterr().err


def test_a_baseline_hides_what_was_there(capsys: Captured) -> None:
    before = codes(capsys, "bad.sh")
    assert WORLD in before
    assert lint("bad.sh", "--write-baseline", "known.json") == 0
    assert lint("bad.sh", "--baseline", "known.json", "--fail-on", "info") == 0
    assert "known.json: " in capsys.readouterr().out
    moved = BAD.replace("torchrun", "# moved down\nset -e\ntorchrun", 1)
    Path("bad.sh").write_text(moved)
    assert WORLD not in codes(capsys, "bad.sh", "--baseline", "known.json")
    Path("parc.toml").write_text('baseline = "known.json"\n')
    assert WORLD not in codes(capsys, "bad.sh")
    Path("bad.sh").write_text(moved + moved.replace("#!/bin/bash\n", ""))
    assert codes(capsys, "bad.sh") & {WORLD}, "a second one is new"
    rows = json.loads(Path("known.json").read_text())["findings"]
    assert {row["code"] for row in rows} == before and all(row["path"] == "bad.sh" for row in rows)


def test_a_baseline_is_no_other_file(capsys: Captured) -> None:
    assert lint("bad.sh", "--write-baseline", "good.sh") == 2
    assert "was not written by parc" in capsys.readouterr().err
    assert (
        lint("bad.sh", "--baseline", "good.sh") == 2 and "not a baseline" in capsys.readouterr().err
    )
    assert (
        lint("bad.sh", "--baseline", "none") == 2 and "--write-baseline" in capsys.readouterr().err
    )


def test_rules_of_a_later_set_do_not_speak(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = [replace(rule, since="2027-02") if rule.code == WORLD else rule for rule in RULES]
    monkeypatch.setattr(judging, "RULES", later)
    assert WORLD in codes(capsys, "bad.sh")
    Path("parc.toml").write_text('rules = "2026-12"\n')
    assert WORLD not in codes(capsys, "bad.sh")
    Path("parc.toml").write_text('rules = "2027-02"\n')
    assert WORLD in codes(capsys, "bad.sh")
    Path("parc.toml").write_text('rules = "newest"\n')
    assert lint("bad.sh") == 2 and "not a year and month" in capsys.readouterr().err


def test_statistics_count_by_rule(capsys: Captured) -> None:
    Path("worse.sh").write_text(BAD)
    lint("bad.sh", "worse.sh", "--statistics", "--select", WORLD)
    first, last = capsys.readouterr().out.splitlines()
    assert first == "2  PAR101  world-size  in 2 files" and last.startswith("2 errors: 2 jobs, ")
    lint("bad.sh", "--statistics", "--select", WORLD, "--format", "json")
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {"code": WORLD, "name": "world-size", "count": 1, "files": 1}
    lint("good.sh", "--statistics", "--select", WORLD)
    assert capsys.readouterr().out.startswith("no findings: 1 job, ")
