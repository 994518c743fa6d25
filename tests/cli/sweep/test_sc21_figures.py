"""examples/sweeps: what the paper of SC21 (arXiv 2104.04473, sections 5.4 to 5.7) measured, as sweeps."""

from __future__ import annotations

import json

import pytest

import parc
from parc.__main__ import main
from tests.support.paths import ROOT

SC21 = ROOT / "examples" / "sweeps" / "sc21.par"
#: Of 175 billion parameters in twelve stages, and 145 billion in sixteen.
GPT3 = ("blocks=96", "width=12288", "attended=96", "stages=12")
LONG = ("blocks=80", "width=12288", "attended=96", "stages=16", "batch=8")
WIDE = ("width=20480", "attended=128", "tensor=64 // stages")


def mfu(capfd: pytest.CaptureFixture[str], sets: tuple[str, ...], *over: str) -> list[float]:
    """The MFU of each point of a sweep, in the grid's order."""
    options = [f"--set={each}" for each in sets] + [f"--over={each}" for each in over]
    assert main(["sweep", str(SC21), "--json", *options]) == 0
    found = json.loads(capfd.readouterr().out)["points"]
    return [plan["mfu"] for point in found for plan in point["plans"]]


def test_the_interleaved_schedule_gains_most_at_small_batches(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Figure 12: the two come together as the batch grows."""
    plain, several, plain_large, several_large = mfu(capfd, GPT3, "batch=12,60", "chunks=1,4")
    assert several / plain > several_large / plain_large > 1
    assert plain_large > plain


def test_tensor_parallelism_is_best_within_a_node(capfd: pytest.CaptureFixture[str]) -> None:
    """Figure 13: of 64 GPUs eight stages of eight GPUs."""
    found = mfu(capfd, WIDE, "batch=32,128", "stages=2,4,8,16,32")
    for curve in (found[:5], found[5:]):
        assert max(curve) == curve[2]


def test_recomputing_everything_costs_up_to_a_third(capfd: pytest.CaptureFixture[str]) -> None:
    """Figure 17: 33 % of the throughput at most."""
    again, kept = mfu(capfd, LONG, "keep=0,1")
    assert 0.67 < again / kept < 0.8


def test_every_example_of_a_sweep_is_a_job() -> None:
    jobs = [parc.load(path) for path in (ROOT / "examples" / "sweeps").glob("*.par")]
    assert {job.name for job in jobs} == {"sc21", "thirty_days"}
