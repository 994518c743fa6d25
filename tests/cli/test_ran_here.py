"""What runs on a calibrated cluster tell of a layout: the same number and words in every command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.compiler.search.measured_layouts import entry
from parc.compiler.variables import ORDER
from parc.printing.words.numbers import seconds
from tests.support import simulated_logs
from tests.support.command_line import Parc

WIDE = """
model wide { layers = 12; hidden = 2048; heads = 16; ffn = 5632; vocab = 49_152 }
cluster here from std.dgx_a100 { nodes = 2; measured = [MEASURED] }
train { seq_len = 2048; global_batch = 96; steps = 500 }
GOAL
target megatron { data = synthetic }
target torchtitan { data = synthetic }
"""
#: A layout that no search of these jobs chooses, as it is given and as a condition.
GIVEN, GOAL = "tp=4,pp=2,micro_batch=2", "goal { require tp == 4; require pp == 2 }"


def written(name: str, *measured: str, goal: str = "") -> str:
    texts = ", ".join(f'"{text}"' for text in measured)
    Path(name).write_text(WIDE.replace("MEASURED", texts).replace("GOAL", goal))
    return name


def layout_of(text: str) -> str:
    """The layout that is priced for a given one, whole, as `--layout` takes it."""
    job = parc.load(written("bare.par"))
    layout = parc.estimate(job, {k: int(v) for k, v in _pairs(text)}, "megatron").layout
    return ",".join(f"{name}={getattr(layout, name)}" for name in ORDER)


def _pairs(text: str) -> list[list[str]]:
    return [part.split("=") for part in text.split(",")]


def took(text: str, ratio: float) -> str:
    """The entry that `parc calibrate` writes of a whole layout."""
    layout = {name: int(value) for name, value in _pairs(text)}
    return entry(parc.load(written("bare.par")), "megatron", layout, ratio)


def estimated(run: Parc, name: str, layout: str, target: str = "megatron") -> tuple[Any, str]:
    """`parc estimate` of a layout as JSON, and its text on one line."""
    given = ("estimate", name, "--layout", layout, "--target", target)
    (value,) = json.loads(run(*given, "--json").out)["estimates"]
    return value, " ".join(run(*given).out.split())


def test_estimate_tells_what_the_given_layout_took(run: Parc) -> None:
    whole = layout_of(GIVEN)
    job = written("ran.par", took(whole, 1.083))
    value, text = estimated(run, job, whole)
    assert value["measured"] == {"runs": 1, "expected": 0.083, "layouts": 1, "chosen": 0.083}
    taken = seconds(value["step_seconds"] * 1.083)
    said = f"runs by 1 run on this cluster a step takes {taken}, 8.3% longer than predicted"
    assert text.endswith(said)
    bare, _ = estimated(run, "bare.par", whole)
    assert bare["step_seconds"] == value["step_seconds"] and bare["measured"] is None


def test_estimate_tells_the_same_as_the_plan(run: Parc) -> None:
    """Of a layout that never ran, from two that did, one of them of a longer job."""
    whole, like = layout_of(GIVEN), layout_of("tp=4,pp=2,micro_batch=4")
    longer = entry(
        parc.load("bare.par", ["train.seq_len=4096"]),
        "megatron",
        {name: int(value) for name, value in _pairs(like)},
        0.88,
    )
    runs = (took(layout_of("tp=8,micro_batch=4"), 0.94), longer)
    (plan,) = json.loads(
        run("plan", written("asked.par", *runs, goal=GOAL), "--target", "megatron", "--json").out
    )["plans"]
    chosen = ",".join(f"{name}={plan['layout'][name]}" for name in ORDER if name != "order")
    value, text = estimated(run, "asked.par", chosen)
    assert plan["measured"].pop("best", None) is None
    assert value["measured"] == plan["measured"]
    assert value["measured"]["runs"] == 2 and -0.12 < value["measured"]["expected"] < -0.01
    printed = " ".join(run("plan", "asked.par", "--target", "megatron").out.split())
    words = text[text.index("runs by 2 runs") :]
    assert words.endswith("shorter than predicted") and words in printed
    elsewhere, other = estimated(run, "asked.par", whole, "torchtitan")
    assert elsewhere["measured"] is None and "runs by" not in other


def test_comparing_and_explaining_tell_it_too(run: Parc) -> None:
    whole = layout_of(GIVEN)
    job = written("ran.par", took(whole, 1.083), goal=GOAL)
    assert run("compile", job, "--target", "megatron", "-o", "out").code == 0
    subjects = (job, "out", "out/megatron/pretrain.sh", "bare.par")
    compared = ("compare", *subjects, "--target", "megatron")
    found = json.loads(run(*compared, "--json").out)["subjects"]
    *ours, bare = [each["estimate"]["measured"] for each in found]
    assert bare is None and len({each["expected"] for each in ours}) == 1
    (row,) = [each for each in run(*compared).out.splitlines() if each.startswith("step by runs")]
    step = found[0]["estimate"]["step_seconds"] * (1 + ours[0]["expected"])
    assert row.split()[3:] == [*seconds(step).split() * 3, "–"]
    explained = ("explain", job, "--target", "megatron", "--against", whole)
    against = json.loads(run(*explained, "--json").out)["against"]
    assert against["measured"]["expected"] == 0.083
    text = " ".join(run(*explained).out.split())
    assert "8.3% longer than predicted" in text[text.index("The given layout") :]
    assert "What would change the choice\n\n" not in run(*explained).out


def test_a_log_is_told_beside_what_other_runs_tell(run: Parc) -> None:
    simulated_logs.record(Path(), ["tp2", "tp1"], noise=0.001)
    made = run("calibrate", "tp1.log", "tp2.log", "--job", "job.par", "-o", "site.par")
    assert made.code == 0, made.err
    text = Path("job.par").read_text()
    cluster = next(line for line in text.splitlines() if line.startswith("cluster"))
    calibrated = 'import "site.par"\ncluster here from site { nodes = 1 }'
    Path("here.par").write_text(text.replace(cluster, calibrated))
    given = ("explain", "here.par", "--target", "megatron", "--log", "tp2.log", "--json")
    ran = json.loads(run(*given).out)["ran"]
    step = ran["step_seconds"]
    ratio = step["measured"] / step["predicted"] - 1
    assert ran["measured"]["runs"] == 2
    assert ran["measured"]["chosen"] == pytest.approx(ratio, abs=2e-3)


def test_a_text_that_names_no_layout_is_a_complaint_of_estimate(run: Parc) -> None:
    found = run("estimate", written("odd.par", "megatron 0: tq=2 took 1"), "--layout", "tp=2")
    assert found.code == 1 and "[PAR156]" in found.err and "odd.par:3:" in found.err
