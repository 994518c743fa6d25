"""`parc explain` as a user runs it: every part of its text, the same in JSON, and clear errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from parc.printing.explanation_text import listed
from tests.support import simulated_logs
from tests.support.command_line import JOB, Parc

HEADINGS = (
    "Why this layout",
    "What binds",
    "What if",
    "Who loses, and by what",
    "What would change the choice",
)


def test_text_has_every_part(run: Parc) -> None:
    found = run("explain", "job.par", "--target", "megatron")
    assert found.code == 0 and "error" not in found.err
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


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([1, 2, 3, 4, 5, 8, 9, "none"], "1 to 5, 8, 9, none"),
        ([2, 4, 6, 8, 10], "2, 4, 6, 8, 10"),
        (["none", 1, 2, 3], "none, 1, 2, 3"),
    ],
)
def test_neighbours_are_printed_as_the_first_and_the_last(
    words: list[str | int], text: str
) -> None:
    assert listed(words) == text


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


def test_against_a_layout_shows_a_waterfall_that_adds_up(run: Parc) -> None:
    found = run("explain", "job.par", "--target", "megatron", "--against", "tp=2,pp=2")
    text = found.out
    assert found.code == 0 and "tp 2 · pp 2" in text and "│█" in text
    first = re.match(r"The given layout is predicted ([\d.]+)% slower than megatron's plan: ", text)
    assert first and text.index("  why     loses ") < text.index("  step  ")
    assert not any(heading in text for heading in HEADINGS)
    whole = run("explain", "job.par", "--target", "megatron", "--against", "tp=2,pp=2", "-v").out
    assert whole.startswith(text.rpartition("\n\n")[0])
    assert all(f"\n{heading}\n" in whole for heading in HEADINGS)
    value = json.loads(
        run("explain", "job.par", "--target", "megatron", "--against", "tp=2,pp=2", "--json").out
    )
    other = value["against"]
    assert other["decisions"]["tp"] == [value["layout"]["tp"], 2]
    longer = 100 * other["seconds"] / value["step_seconds"]
    assert float(first[1]) == pytest.approx(longer, abs=0.06)
    for terms, whole in (("time", "seconds"), ("memory", "memory_bytes")):
        changes = sum(term["change"] for term in other[terms])
        assert changes == pytest.approx(other[whole], rel=1e-3, abs=1e-6)


def test_against_its_own_script_nothing_differs(run: Parc) -> None:
    assert run("compile", "job.par", "-o", "out").code == 0
    for script in ("out/megatron/pretrain.sh", "out/torchtitan/launch.sh"):
        assert "is the one that" in run("explain", "job.par", "--against", script).out


def test_against_a_layout_that_breaks_the_goal(run: Parc) -> None:
    Path("tight.par").write_text(JOB.replace("maximize mfu", "maximize mfu; require tp == 1"))
    found = run("explain", "tight.par", "--target", "megatron", "--against", "tp=2")
    assert found.code == 0 and "breaks  `require tp == 1`" in found.out
    assert "It cannot be chosen: `require tp == 1`." in " ".join(found.out.split())


@pytest.mark.parametrize(
    ("against", "code", "message"),
    [
        ("tp=3", "PAR101", "does not divide"),
        ("tp=two", "PAR174", "--against: `tp=two` is not NAME=VALUE"),
        ("pt=2", "PAR174", "unknown degree `pt`"),
        ("gone.sh", "PAR002", "there is no file `gone.sh`"),
    ],
)
def test_what_a_plan_cannot_be_explained_against(
    run: Parc, against: str, code: str, message: str
) -> None:
    found = run("explain", "job.par", "--against", against)
    assert found.code == 2 and f"[{code}]" in found.err and message in found.err


def test_launch_files_of_a_target_without_a_plan(run: Parc) -> None:
    assert run("compile", "job.par", "-o", "out").code == 0
    found = run(
        "explain", "job.par", "--target", "megatron", "--against", "out/torchtitan/launch.sh"
    )
    assert found.code == 2 and "[PAR170]" in found.err and "is of torchtitan" in found.err


def test_a_log_shows_predicted_beside_measured(run: Parc) -> None:
    simulated_logs.record(Path(), ["tp2"], noise=0.001)
    given = ("explain", "job.par", "--target", "megatron", "--log", "tp2.log")
    text = run(*given).out
    rows = [
        line.split() for line in text[text.index("Predicted and measured") :].splitlines() if line
    ]
    assert ["predicted", "measured"] in rows and {"step", "MFU", "tokens/s"} <= {r[0] for r in rows}
    ran = json.loads(run(*given, "--json").out)["ran"]
    step = ran["step_seconds"]
    seconds = simulated_logs.true_seconds(simulated_logs.RUNS["tp2"], Path(), simulated_logs.TRUE)
    assert step["measured"] == pytest.approx(seconds, rel=2e-3)
    assert sum(ran["time"].values()) == pytest.approx(step["predicted"], rel=1e-4)
    assert ran["mfu"]["measured"] / ran["mfu"]["predicted"] == pytest.approx(
        step["predicted"] / step["measured"], rel=1e-4
    )


TIMERS = """\
(min, max) time across ranks (ms):
    forward-backward ...............................: (900.00, {})
    all-grads-sync .................................: (1.00, 2.00)
    optimizer ......................................: (9.00, {})
"""
MEMORY = (
    "[Rank {}] (after 1 iterations) memory (MB) | allocated: 1.00 | max allocated: 9.00 "
    "| reserved: 10.00 | max reserved: {}\n"
)


def test_a_log_with_timers_shows_the_parts_of_a_step_and_memory(run: Parc) -> None:
    simulated_logs.record(Path(), ["tp2"], noise=0.001)
    log = Path("tp2.log")
    seconds = simulated_logs.true_seconds(simulated_logs.RUNS["tp2"], Path(), simulated_logs.TRUE)
    step = seconds * 1000
    reports = TIMERS.format(f"{9 * step:.2f}", "500.00")
    for passes in (0.90, 0.91, 0.89):
        reports += TIMERS.format(f"{passes * step:.2f}", f"{0.06 * step:.2f}")
    told = MEMORY.format(0, "2048.00") + MEMORY.format(1, "3072.50")
    log.write_text(log.read_text() + reports + told)
    given = ("explain", "job.par", "--target", "megatron", "--log", "tp2.log")
    ran = json.loads(run(*given, "--json").out)["ran"]
    parts = ran["parts"]
    assert parts["passes"]["measured"] == pytest.approx(0.9 * seconds, rel=1e-3)
    assert parts["optimizer"]["measured"] == pytest.approx(0.06 * seconds, rel=1e-3)
    assert parts["between"]["measured"] == pytest.approx(0.04 * seconds, rel=0.1)
    predicted = sum(part["predicted"] for part in parts.values())
    assert predicted == pytest.approx(ran["step_seconds"]["predicted"], rel=1e-4)
    reserved = ran["reserved_bytes"]
    assert reserved["measured"] == pytest.approx(3072.5 * 2**20, rel=1e-3)
    assert reserved["predicted"] > 2**28
    text = run(*given).out
    rows = [
        line.split() for line in text[text.index("Predicted and measured") :].splitlines() if line
    ]
    assert {"passes", "optimizer", "between", "memory"} <= {row[0] for row in rows}


@pytest.mark.parametrize(("text", "code"), [("", "empty"), ("nothing\n", "no line in which")])
def test_what_is_no_log(run: Parc, text: str, code: str) -> None:
    Path("run.log").write_text(text)
    found = run("explain", "job.par", "--log", "run.log")
    assert found.code == 2 and code in found.err and found.out == ""
