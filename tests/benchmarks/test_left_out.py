"""Sources left out whole: their own stack and kernels are forgotten, and the documents show it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import accuracy, fit, left_out
from benchmarks.accuracy.setups.setup import setup_of
from benchmarks.accuracy.setups.stacks import PLAIN, stack_of
from docs.tables import COST_MODEL, README, together
from parc.compiler.time.layers import attention_core
from tests.support.measured_rows import GOOD, row, write

NEMO, MAXTEXT = row(source="one", framework="nemo"), row(source="two", framework="maxtext")


def test_a_stack_of_one_source_alone_falls_back_to_the_plain_one() -> None:
    found = {"one": [NEMO], "two": [MAXTEXT], "three": [row(source="three", framework="nemo")]}
    assert stack_of(MAXTEXT, left_out.shared_stacks(found, "two")) is PLAIN
    assert stack_of(NEMO, left_out.shared_stacks(found, "one")) is stack_of(NEMO)
    assert stack_of(MAXTEXT, left_out.shared_stacks(found, "one")) is stack_of(MAXTEXT)


def test_a_release_of_one_source_alone_falls_back_to_an_older_one() -> None:
    new = row(source="new", framework="megatron-lm", framework_version="2024-03")
    old = row(source="old", framework="megatron-lm", framework_version="2021-04")
    entry = stack_of(new, left_out.shared_stacks({"new": [new], "old": [old]}, "new"))
    assert entry is stack_of(old) is not stack_of(new)


def test_facts_of_kernels_that_a_source_alone_tells_are_forgotten() -> None:
    setup = setup_of(
        row(gpu="H100-SXM", attention="flash", precision="bf16", attention_kernel="triton")
    )
    without = left_out.Without(attention=0.5, traits=(("fp8_pace", 0.7),))
    changed = left_out.as_left_out(setup, without)
    assert changed.case.traits.kernels.fp8_pace == 0.7
    times = [float(attention_core(each.case, 1, 1, 1)) for each in (setup, changed)]
    assert 1.5 < times[1] / times[0] < 2.0


def test_sources_whose_kernels_are_named_are_in_the_table() -> None:
    assert set(left_out.WITHOUT) <= set(fit.timed_rows(accuracy.DATA))


def test_scores_count_who_lies_in_the_band() -> None:
    errors, spreads = np.log([1.05, 1.3, 0.7, 1.0]), np.full(4, 0.1)
    found = left_out.scores(errors, spreads)
    assert (found["n"], found["in_band"]) == (4, 0.5)
    assert found["median_ape"] == pytest.approx(0.175)
    assert left_out.scores(np.array([]), np.array([]))["n"] == 0


def test_two_small_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def rows(source: str, framework: str, seconds: tuple[str, ...]) -> list[dict[str, str]]:
        base = {**GOOD, "source": source, "framework": framework, "vpp": "1", "step_time_s": ""}
        return [
            {**base, "mbs": mbs, "step_time_s": each}
            for mbs, each in zip("124", seconds, strict=True)
        ]

    path = write(
        tmp_path / "runs.csv",
        *rows("one", "megatron-lm", ("20", "18", "17")),
        *rows("two", "internevo", ("25", "23", "21")),
        {**GOOD, "source": "two", "framework": "internevo", "tp": "1", "dp": "128", "oom": "1"},
    )
    assert left_out.main(["--data", str(path), "--json", str(tmp_path / "out.json")]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^one\s+3 ", printed, re.M) and re.search(r"^two\s+3 .*plain$", printed, re.M)
    risk = json.loads((tmp_path / "out.json").read_text())["risk"]
    assert set(risk) == {"two"}
    assert risk["two"]["fitted"]["n"] == risk["two"]["left_out"]["n"] == 4
    assert risk["two"]["fitted"]["log_loss"] != risk["two"]["left_out"]["log_loss"]
    one = write(tmp_path / "one.csv", *rows("one", "megatron-lm", ("20", "18", "17")))
    assert left_out.main(["--data", str(one)]) == 1
    assert left_out.main(["--data", str(tmp_path / "none.csv")]) == 2
    assert left_out.main(["--data", str(path), "--json", str(tmp_path / "no" / "out.json")]) == 2


def test_documents_are_of_todays_model() -> None:
    """Fitted errors are those of the table of accuracy, which its own test holds; `left_out.py --docs` renews
    them together with what is left out."""
    tables = dict(
        re.findall(r"<!-- table (\w+) -->\n(.*?)<!-- end -->", together(COST_MODEL), re.S)
    )
    accurate = {cells[0]: cells[3] for cells in _cells(tables["accuracy"])}
    left_out_table = _cells(tables["left_out"])
    unseen = {cells[0]: cells[2] for cells in left_out_table if cells[2] != "–"}
    assert len(unseen) > 20
    assert {name: accurate[name] for name in unseen} == unseen
    later = {cells[0]: cells[3:5] for cells in left_out_table if cells[2] == "–"}
    fresh = {cells[0]: cells[3:5] for cells in _cells(tables["fresh"])}
    assert len(later) == 8 and {name: fresh[name] for name in later} == later
    last = _cells(tables["left_out"])[-1]
    assert f"median error {last[3]}, 90th percentile {last[4]}" in README.read_text()


def _cells(table: str) -> list[list[str]]:
    lines = table.strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
