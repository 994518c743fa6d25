"""The simulation of choices: rules pick what they say, truths are drawn alike, and shares are shares."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import doubt
from benchmarks.accuracy.report.document_tables import doubt_table, rules_table
from benchmarks.accuracy.report.scores import Scored
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import setup_of
from parc.compiler.case import Case
from parc.compiler.pricing.mechanisms import NAMES, WAYS
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import Swept, sweep
from tests.support.measured_rows import row
from tests.support.solver_and_sweep import job_of, target_of


def swept() -> Swept:
    job = job_of("maximize mfu")
    return sweep(Space(Case(job, target_of(job))))


def test_a_rule_takes_the_simplest_that_is_near() -> None:
    space = swept()
    cost = doubt._cost(space)
    efforts = space.effort(space.by_objective)
    assert doubt.simplest(space, cost, 0.0) == 0
    picked = doubt.simplest(space, cost, 0.2)
    assert cost[picked] <= 1.2 * cost[0] and efforts[picked] == efforts[cost <= 1.2 * cost[0]].min()
    assert space.by_objective[doubt.simplest(space, cost, 0.01)] == space.order[0]


def test_truths_are_the_same_each_time_and_cost_ways_more_in_half_of_them() -> None:
    space = swept()
    cost = doubt._cost(space)
    first, again = (list(doubt.truths(space, cost, 200)) for _ in range(2))
    for (kind, true), (other, same) in zip(first, again, strict=True):
        assert kind == other and (true == same).all()
    off = [
        np.mean([np.log(true / cost) for kind, true in first if kind == asked], axis=0)
        for asked in doubt.KINDS
    ]
    ways = np.zeros(len(cost))
    for name in WAYS:
        ways += space.space.layouts[name][space.by_objective] > 1
    slope = np.polyfit(ways, off[1] - off[0], 1)[0]
    assert doubt.UNKNOWN[0] / 2 < slope < 2 * doubt.UNKNOWN[1]
    assert np.abs(off[0]).mean() < 0.1


def test_a_pair_is_judged() -> None:
    job = job_of("maximize mfu")
    pair = doubt.judged("small", Case(job, target_of(job)), 8)
    assert pair is not None
    for found in (pair.stated, pair.realised):
        assert 0.0 <= found["chance"] <= 1.0 and 0.0 <= found["regret"] < 1.0
    assert set(pair.regret) == set(doubt.KINDS) and pair.layouts == len(swept().order)
    assert all(min(regrets.values()) >= 0.0 for regrets in pair.regret.values())
    assert pair.regret[doubt.KINDS[0]]["simplest within 1 %"] == pytest.approx(
        pair.realised["regret"]
    )
    assert doubt.rules([pair, pair]) == {
        kind: pytest.approx(pair.regret[kind]) for kind in doubt.KINDS
    }


def test_a_goal_without_time_is_no_pair() -> None:
    job = job_of("minimize memory")
    assert doubt.judged("small", Case(job, target_of(job)), 2) is None


def test_a_measured_sweep_is_judged_by_what_was_measured() -> None:
    setups = [setup_of(row(mbs=each, vpp="1")) for each in ("1", "2", "4")]
    runs = [[Scored(each, predict(each), predict(each).seconds)] for each in setups]
    right = doubt._of_sweep(runs)
    assert right["realised_chance"] == right["named"] == 1.0 and right["realised_regret"] == 0.0
    fastest = min(range(3), key=lambda number: runs[number][0].prediction.seconds)
    best = runs[fastest][0]
    slow = Scored(best.setup, best.prediction, 3 * best.prediction.seconds)
    wrong = doubt._of_sweep([*runs[:fastest], [slow], *runs[fastest + 1 :]])
    assert wrong["realised_chance"] == 0.0 and wrong["realised_regret"] > 1.0
    assert wrong["stated_chance"] == right["stated_chance"]


def test_fewer_than_two_draws_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        doubt.main(["--draws", "1"])
    assert ended.value.code == 2 and "2 at least" in capsys.readouterr().err


def test_documents_show_both_tables() -> None:
    stated = {"chance": 0.25, "regret": 0.04}
    report = {
        "pairs": [{"stated": stated, "realised": {"chance": 0.75, "regret": 0.02}}],
        "rules": {"a": {"best": 0.03, "simplest": 0.02}, "b": {"best": 0.05, "simplest": 0.01}},
        "measured": {
            "stated_chance": 0.7, "realised_chance": 0.8, "stated_regret": 0.01,
            "realised_regret": 0.005, "named": 1.0, "sweeps": 3,
        },
    }  # fmt: skip
    assert "| 25.0 % | 75.0 % | 4.0 % | 2.0 % |" in doubt_table(report)
    assert "| 3 measured sweeps | 70.0 % | 80.0 % | 1.0 % | 0.5 % |" in doubt_table(report)
    shown = rules_table(report).splitlines()[2:]
    assert shown == [
        "| best | 3.0 % | 5.0 % |",
        "| simplest | 2.0 % | 1.0 % |",
    ]


def test_rules_by_doubt_take_the_least_regret_and_the_likeliest_split() -> None:
    """The first layout is predicted best and all of its time is in a mechanism that may be far off; three
    that split alike are hardly worse and share another."""
    found = np.zeros((len(NAMES), 4))
    found[3, 0] = 1.0
    picked = doubt.by_doubt(np.log([1.0, 1.005, 1.006, 1.007]), found, np.array([0, 1, 1, 1]))
    assert picked[doubt.LIKELIEST] == 1 and picked[doubt.LEAST_REGRET] == 1
    apart = doubt.by_doubt(np.log([1.0, 1.2, 1.3, 1.4]), 0 * found, np.array([0, 1, 1, 1]))
    assert set(apart.values()) == {0}


def test_a_sweep_gives_each_rule_the_regret_of_its_layout() -> None:
    setups = [setup_of(row(mbs=each, vpp="1")) for each in ("1", "2", "4")]
    runs = [[Scored(each, predict(each), predict(each).seconds)] for each in setups]
    found = doubt.regrets_of(runs)
    assert set(found) == {*doubt.RULES, doubt.LEAST_REGRET, doubt.LIKELIEST}
    assert found["the best predicted"] == 0.0


def test_ways_of_splitting_are_numbered() -> None:
    columns = {name: np.ones(3, np.int64) for name in WAYS} | {"tp": np.array([2, 1, 2])}
    first, other, again = doubt.splits(columns)
    assert first == again != other
