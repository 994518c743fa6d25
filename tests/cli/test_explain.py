"""`parc explain` as a user runs it: every part of its text, the same in JSON, and clear errors."""

from __future__ import annotations

import json

import pytest

from tests.support.command_line import Parc

HEADINGS = (
    "Why this layout",
    "What binds",
    "What if",
    "Who loses, and by what",
    "What would change the choice",
)


def test_text_has_every_part(run: Parc) -> None:
    found = run("explain", "job.par", "--target", "megatron")
    assert found.code == 0 and found.err == ""
    lines = found.out.splitlines()
    places = [lines.index(heading) for heading in HEADINGS]
    assert places == sorted(places)
    what_if = "\n".join(lines[places[2] : places[3]])
    assert "chosen" in what_if and "worse" in what_if


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_lines_fit_and_use_the_terminal(
    run: Parc, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = run("explain", "job.par", "--target", "megatron").out
    widths = [len(line) for line in text[text.index("Why this layout") :].splitlines()]
    assert columns - 20 < max(widths) <= columns


def test_json_has_every_value_of_every_decision(run: Parc) -> None:
    found = json.loads(run("explain", "job.par", "--target", "megatron", "--json").out)
    assert found["target"] == "megatron" and found["quantity"] == "mfu"
    values = {each["value"] for each in found["what_if"] if each["decision"] == "zero"}
    assert values == {0, 1, 2, 3}
    chosen = {each["decision"]: each["value"] for each in found["what_if"] if each["chosen"]}
    assert chosen == {name: found["layout"][name] for name in chosen} and len(chosen) > 5
    for loser in found["losers"]:
        assert sum(term["change"] for term in loser["time"]) == pytest.approx(
            loser["seconds"], rel=1e-3, abs=1e-6
        )
    assert {each["parameter"] for each in found["thresholds"]} >= {
        "network",
        "attention",
        "overlap",
    }


def test_a_job_without_a_layout_has_nothing_to_explain(run: Parc) -> None:
    found = run("explain", "impossible.par")
    assert found.code == 1 and "PAR151" in found.err and found.out == ""
