"""benchmarks/data/own_h100_steps.csv: training steps measured on one H100, and parc's prices of them."""

from __future__ import annotations

import pytest

import parc
from benchmarks.accuracy import accuracy
from benchmarks.accuracy.report.scores import Scored
from benchmarks.gpu.steps import SWEEPS, Outcome, Step, job_of, row
from parc.compiler.plan import RECOMPUTE
from tests.support.paths import ROOT

DATA = ROOT / "benchmarks" / "data" / "own_h100_steps.csv"


def step_named(name: str) -> Step:
    """The step of the sweeps that a row's id counts."""
    number = int(name.rpartition("-")[2])
    return SWEEPS[number - 1]


SCORED = {step_named(run.row.id): run for run in accuracy.score(DATA).runs}
SWEPT = sorted({(step.program, step.size.name, step.seq_len) for step in SCORED})


def swept(program: str, model: str, seq_len: int) -> dict[int, Scored]:
    """The rows of one sweep by micro-batch."""
    return {
        step.micro_batch: run
        for step, run in SCORED.items()
        if (step.program, step.size.name, step.seq_len) == (program, model, seq_len)
    }


def test_rows_are_those_of_the_sweeps() -> None:
    assert len(SCORED) == 28
    for step, run in SCORED.items():
        again = row(0, step, Outcome(), "H100-SXM", "", 2026)
        assert (run.row.model, run.row.framework) == (again["model"], again["framework"])
        stated = (run.row.seq_len, run.row.mbs, run.row.gbs, run.row.recompute)
        assert stated == (
            step.seq_len, step.micro_batch, step.micro_batch * step.microbatches, step.recompute
        )  # fmt: skip


@pytest.mark.parametrize(
    "step", [step for step in SCORED if step.program == "deepspeed" and step.micro_batch == 3]
)
def test_a_row_is_priced_as_the_job_that_was_emitted(step: Step) -> None:
    layout = {"micro_batch": 3, "recompute": RECOMPUTE.index(step.recompute), "zero": 1}
    estimate = parc.estimate(job_of(step, "h100_sxm"), layout, "deepspeed")
    assert SCORED[step].prediction.seconds == pytest.approx(estimate.step_seconds, rel=1e-3)


@pytest.mark.parametrize("sweep", SWEPT)
def test_micro_batches_between_powers_of_two_are_priced_as_well(
    sweep: tuple[str, str, int],
) -> None:
    """The error at 3, 5, 6 and 7 sequences is that of the neighbours, to two points."""
    runs = swept(*sweep)
    between = [each for each in (3, 5, 6, 7) if {each - 1, each, each + 1} <= runs.keys()]
    assert len(between) >= 2
    for each in between:
        around = (runs[each - 1].error + runs[each + 1].error) / 2
        assert runs[each].error == pytest.approx(around, abs=0.02)


def test_prices_of_long_sequences_are_right() -> None:
    """The compute of 4,096 tokens fills the GPU: the emitted train.py is predicted to 8 %."""
    errors = [run.error for run in swept("deepspeed", "Llama-1B", 4096).values()]
    assert len(errors) == 8 and max(map(abs, errors)) < 0.08
