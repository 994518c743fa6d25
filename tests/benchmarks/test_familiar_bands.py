"""Spreads by familiarity and scales of memory: planted ones come back, and a source does not set its own."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.accuracy import fit_memory
from benchmarks.accuracy.familiar_bands import Unseen, nested, widths
from benchmarks.accuracy.fit_memory import Told
from benchmarks.accuracy.report.doubt_scores import NEIGHBOURS, worst_fifty
from benchmarks.accuracy.report.scores import Scored
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import setup_of
from benchmarks.accuracy.setups.stacks import PLAIN
from parc.compiler.familiarity import WIDTHS, Known
from parc.compiler.risk import FOUR_OF_FIVE, SPREAD
from tests.support.measured_rows import row

#: Half-widths that hold four of five, and what is known of the sources that tell them.
PLANTED = {"run": 0.05, "unseen": 0.15, "experts": 0.1}
KNOWN = [
    Known(stack, kind, experts)
    for stack in (True, False)
    for kind in (True, False)
    for experts in (True, False)
]


def planted(sources: int = 40, runs: int = 60) -> dict[str, Unseen]:
    """Sources of normal errors, each with one of KNOWN."""
    random, found = np.random.default_rng(3), {}
    for number in range(sources):
        known = KNOWN[number % len(KNOWN)]
        half = sum(PLANTED[name] for name in known.widths)
        errors = random.normal(size=runs) * half / FOUR_OF_FIVE
        found[f"source {number}"] = Unseen((known,) * runs, errors)
    return found


def test_planted_widths_come_back() -> None:
    found = planted(sources=64, runs=200)
    assert widths(found.values()) == pytest.approx(PLANTED, abs=0.012)


def test_four_of_five_unseen_runs_lie_in_the_band_of_the_others() -> None:
    found = planted()
    of_others = nested(found)
    inside = [
        np.mean(np.abs(each.errors) <= FOUR_OF_FIVE * of_others[name])
        for name, each in found.items()
    ]
    assert np.mean(inside) == pytest.approx(0.8, abs=0.02)


def test_a_source_does_not_widen_its_own_band() -> None:
    found = planted()
    wild = Unseen((KNOWN[1],) * 5, np.full(5, 3.0))
    of_others = nested({**found, "wild": wild})
    assert FOUR_OF_FIVE * of_others["wild"] == pytest.approx(PLANTED["run"], rel=0.1)


def test_sources_weigh_the_same_and_what_none_tells_is_the_width_in_use() -> None:
    known = Known(stack=True, kind=True, experts=False)
    many, one = np.linspace(0.01, 0.1, 1000), np.array([0.5])
    told = [Unseen((known,) * 1000, many)] * 5
    alone = Unseen((known,), one)
    # Half of the weight lies beyond what the first source needs, so the error of the other sets the width;
    # of six sources a sixth lies beyond, and 96 % of each of five make up four fifths.
    assert widths([told[0], alone])["run"] == pytest.approx(0.5)
    assert widths([*told, alone])["run"] == pytest.approx(0.0964, abs=1e-3)
    assert widths(told) == pytest.approx({**WIDTHS, "run": 0.082}, abs=1e-3)
    assert widths(()) == dict(WIDTHS)


def test_a_planted_scale_of_memory_comes_back_between_own_and_others() -> None:
    random = np.random.default_rng(5)
    nothing = np.array([])
    found = {
        "one": Told("wide", 0.3 * random.standard_t(2, 4000), nothing, nothing),
        "two": Told("usual", 0.1 * random.standard_t(2, 4000), nothing, nothing),
        "three": Told("narrow", 0.012 * random.standard_t(2, 4000), nothing, nothing),
    }
    tables = fit_memory.likelihoods(found, 2)
    assert fit_memory.likeliest([tables["one"]]) == pytest.approx(0.3, rel=0.06)
    assert fit_memory.likeliest([tables["two"]]) == pytest.approx(0.1, rel=0.06)
    shared = fit_memory.by_framework(found, tables)
    assert 0.1 < shared["wide"] < 0.3 and shared["narrow"] == SPREAD


def test_rows_that_ran_and_ran_out_tell_the_scale_too() -> None:
    """A fifth of the runs that were predicted to need half of the GPU ran out: 1.06 scales."""
    filled = np.full(400, np.log(0.5))
    found = {"census": Told("one", np.array([]), filled, filled[:100])}
    scale = fit_memory.likeliest(fit_memory.likelihoods(found, 2).values())
    assert scale == pytest.approx(np.log(2) / 1.0607, rel=0.3) and scale > 0.4


def scored(**change: str) -> Scored:
    setup = setup_of(row(**change))
    return Scored(setup, predict(setup), 1.0)


def test_an_unknown_framework_is_priced_without_its_entries() -> None:
    known = scored(framework="megatron-deepspeed", framework_version="2022-01")
    (unknown,) = fit_memory.as_unknown([known])
    assert unknown.setup.stack is PLAIN is not known.setup.stack
    assert unknown.prediction.bytes != known.prediction.bytes


def test_gaps_cost_memory_and_no_time() -> None:
    run = scored(framework="aleph-alpha", framework_version="", sp="0", attention="flash2")
    found = [fit_memory.with_gaps(run, share).prediction for share in (0.125, 0.25, 0.375)]
    least, middle, most = (each.bytes for each in found)
    assert middle > least and most - middle == pytest.approx(middle - least, rel=1e-3)
    assert len({each.seconds for each in found}) == 1


def test_the_worst_fifty_are_next_to_each_other_in_predicted_risk() -> None:
    predicted = np.linspace(0, 1, 4 * NEIGHBOURS)
    observed = np.round(predicted)
    off = worst_fifty(predicted, observed)
    assert off == pytest.approx(0.375, abs=0.01)
    shuffled = np.random.default_rng(2).permutation(len(predicted))
    assert worst_fifty(predicted[shuffled], observed[shuffled]) == pytest.approx(off)
    assert worst_fifty(predicted[: NEIGHBOURS - 1], observed[: NEIGHBOURS - 1]) is None
