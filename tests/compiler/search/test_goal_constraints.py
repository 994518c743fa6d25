"""Every form of condition and objective, one that can be met and one that cannot: solver and sweep agree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from parc.compiler import plan
from parc.compiler.pricing.estimate import one_row
from parc.compiler.pricing.quantities import price, quantities
from parc.compiler.rules.validity import GENERAL
from parc.compiler.target import Predicate, holds
from parc.compiler.variables import SEARCHED
from parc.dsl import JobError
from parc.dsl.expression import evaluate
from tests.support.solver_and_sweep import (
    DENSE,
    MOE,
    TRAIN,
    Answers,
    Parts,
    answers,
    job_of,
    target_of,
)

#: Rule -> columns that pass, columns that do not, for 2 nodes, 16 sequences of 2,048 tokens, 8 layers.
RULES = {
    "world-size": (
        {"gpus": 16, "tp": 4, "pp": 2, "cp": 2},
        {"gpus": 16, "tp": 4, "pp": 3, "cp": 1},
    ),
    "replica-shards": ({"dp": 8, "dp_shard": 4}, {"dp": 8, "dp_shard": 3}),
    "batch-dp": ({"micro_batch": 2, "dp": 8}, {"micro_batch": 4, "dp": 8}),
    "seq-split": ({"cp": 8}, {"cp": 3}),
    "stages-above-layers": ({"pp": 5, "vpp": 2}, {"pp": 4, "vpp": 3}),
}


def test_every_general_rule_is_tried() -> None:
    assert set(RULES) == {rule.name for rule in GENERAL}


@pytest.mark.parametrize("rule", GENERAL, ids=lambda rule: rule.name)
def test_general_rule(rule: Predicate) -> None:
    job = job_of()
    good, bad = RULES[rule.name]
    assert holds(rule, job, good)
    assert not holds(rule, job, bad)
    both = {name: np.array([good[name], bad[name]]) for name in rule.of}
    assert np.asarray(holds(rule, job, both)).tolist() == [True, False]
    message = rule.message(job, **bad)
    assert all(str(bad[name]) in message for name in rule.of if bad[name] > 1)


def test_interleaving_needs_a_pipeline() -> None:
    (rule,) = (rule for rule in GENERAL if rule.name == "stages-above-layers")
    assert not holds(rule, job_of(), {"pp": 1, "vpp": 2})
    assert rule.message(job_of(), pp=1, vpp=2) == "vpp 2 needs pp > 1"


#: A form of condition -> one that some layout meets, one that none meets.
CONDITIONS = {
    "compare": ("require tp == 4", "require tp == 3"),
    "from the right": ("require 4 <= pp", "require 64 <= pp"),
    "chain": ("require 2 <= tp <= 4", "require 5 <= tp < 8"),
    "set": ("require tp in {2, 3}", "require tp in {3, 5, 7}"),
    "set of none": ("require tp not in {1, 8}", "require tp not in {1, 2, 4, 8, 16}"),
    "range": ("require pp in 3..4", "require pp in 20..40"),
    "word": ("require recompute == full", "require offload == all"),
    "words": ("require recompute in {selective, full}", "require offload in {all}"),
    "words in order": ("require recompute > selective", "require recompute > full"),
    "words from the right": ("require selective <= recompute", "require recompute < none"),
    "fine before full": (
        "require recompute >= fine and recompute <= fine",
        "require moe < recompute < full",
    ),
    "schedule": (
        "require schedule == interleaved",
        "require schedule == interleaved and pp == 1",
    ),
    "forbid": ("forbid tp == 1", "forbid tp >= 1"),
    "forbid words": ("forbid recompute == none", "forbid recompute in {none, selective, full}"),
    "and": ("require tp == 2 and pp == 2", "require tp == 2 and dp == 16"),
    "or": ("require tp == 3 or pp == 4", "require tp == 3 or pp == 64"),
    "not": ("require not tp == 1", "require not tp <= 16"),
    "forbid or": ("forbid tp == 1 or pp == 1", "forbid tp > 1 or tp == 1"),
    "product": ("require tp * pp == 8", "require tp * pp == 6 and tp * cp == 6"),
    "sum": ("require tp + pp >= 9", "require tp + pp + cp == 47"),
    "quotient": ("require microbatches / pp >= 4", "require microbatches / pp > 16"),
    "whole quotient": ("require dp // 3 == 2", "require dp // 3 == 7"),
    "remainder": ("require model.layers % pp == 0 and pp > 1", "require gpus % 5 == 0"),
    "power": ("require 2 ** pp == 16", "require 2 ** pp == 15"),
    "max": ("require max(tp, pp) == 2", "require max(tp, pp) == 0"),
    "min": ("require min(tp, pp) == 2", "require min(tp, pp) == 8"),
    "ceil and log2": ("require ceil(log2(dp)) == 3", "require ceil(log2(dp)) == 9"),
    "floor": ("require floor(dp / 3) == 1", "require floor(dp / 3) == 9"),
    "variables of all kinds": (
        "require microbatches >= 4 * pp and pp > 1",
        "require microbatches > 16 * pp",
    ),
    "zero": ("require zero == 3", "require zero == 3 and tp == 2"),
    "shards": ("require dp_shard == 8", "require dp_shard == 4 and dp == 2"),
    "micro-batch": ("require micro_batch == 4", "require micro_batch == 5"),
    "nodes": ("require nodes == 2", "require nodes == 1"),
    "memory": ("require memory <= 3 GiB", "require memory <= 2 GiB"),
    "memory share": ("require memory <= 4%", "require memory < 1%"),
    "memory between": (
        "require memory in 4 GiB..5 GiB",
        "require memory in 79 GiB..79.001 GiB",
    ),
    "memory by degree": ("require memory <= tp * 2 GiB", "require memory <= tp * 1 MiB"),
    "memory above": ("require memory > 5 GiB", "require memory > 80 GiB"),
    "mfu": ("require mfu >= 4%", "require mfu >= 99%"),
    "mfu below": ("require mfu < 3%", "require mfu < 0"),
    "hfu": ("require hfu >= 5%", "require hfu >= 100%"),
    "step time": ("require step_time <= 60 ms", "require step_time <= 1 ms"),
    "tokens per second": (
        "require tokens_per_second >= 800K tokens/s",
        "require tokens_per_second > 1G tokens/s",
    ),
    "days": ("require days <= 60 s", "require days <= 1 s"),
    "cost": ("require cost <= 0.5 $", "require cost <= 0.01 $"),
    "energy": ("require energy <= 0.25 kWh", "require energy <= 1 J"),
    "bubble": ("require bubble <= 5%", "require bubble < 0"),
    "bubble above": ("require bubble > 0", "require bubble > 99%"),
    "no bubble": ("forbid bubble > 0", "forbid bubble >= 0"),
    "quantity and degree": ("require mfu >= 4% and pp >= 2", "require mfu >= 4% and pp >= 64"),
    "quantity or degree": ("require mfu >= 99% or pp == 2", "require mfu >= 99% or pp == 64"),
    "not a quantity": ("require not memory <= 5 GiB", "require not memory <= 80 GiB"),
    "with a reason": ('require tp == 2 : "by habit"', 'require tp == 6 : "by habit"'),
    "experts": ("require ep == 4 and etp == 2", "require ep == 3"),
    "shards in replicas": ("require dp_replicate == 2", "require dp_replicate == 3"),
    "offload": ("require offload == all", "require offload == all and zero == 1"),
    "hpz": ("require hpz > 1", "require hpz == 16"),
}
#: Forms that need another target than Megatron-LM, or another model than a dense one.
PARTS: dict[str, Parts] = {
    "experts": {"model": MOE},
    "fine before full": {"model": MOE},
    "shards in replicas": {"target": "torchtitan"},
    "offload": {"target": "deepspeed"},
    "hpz": {"target": "deepspeed"},
}
every_form = pytest.mark.parametrize("form", CONDITIONS)


def values_of(found: Answers) -> dict[str, npt.NDArray[np.float64]]:
    """What the solver's layout has in the solver's placement of it."""
    assert found.solution is not None
    columns = one_row(found.case, {name: found.solution.layout[name] for name in SEARCHED})
    return {**columns, **quantities(found.case, columns, price(found.case, columns))}


@every_form
def test_a_condition_that_can_be_met(form: str) -> None:
    job = job_of(CONDITIONS[form][0], **PARTS.get(form, {}))
    found = answers(job)
    assert found.solution is not None and found.solution.status == "OPTIMAL"
    assert found.layout == found.best
    (constraint,) = job.goal.constraints
    met = bool(np.all(evaluate(constraint.expression, values_of(found))))
    assert met == (constraint.kind == "require")


@every_form
def test_a_condition_that_cannot_be_met(form: str) -> None:
    job = job_of(CONDITIONS[form][1], **PARTS.get(form, {}))
    found = answers(job)
    assert found.solution is None
    assert found.best is None


def test_conditions_hold_together() -> None:
    clauses = "require tp == 2\nrequire pp == 2\nforbid recompute == full\nrequire memory <= 4 GiB"
    found = answers(job_of(clauses))
    assert found.layout == found.best
    assert (found.layout["tp"], found.layout["pp"]) == (2, 2)


#: Objectives with what must hold of the best among 1 to 4 nodes.
OBJECTIVES = {
    "maximize mfu": "mfu",
    "maximize tokens_per_second": "tokens_per_second",
    "minimize step_time": "step_time",
    "minimize days": "days",
    "minimize cost": "cost",
    "minimize energy": "energy",
    "minimize memory": "memory",
    "minimize bubble": "bubble",
    "maximize bubble": "bubble",
    "maximize memory": "memory",
    "minimize mfu": "mfu",
}
RANGE = {"nodes": "1..4", "price": "2.5 $/h"}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objective(objective: str) -> None:
    """The solver compares integers; the best by the quantity's own values is the same."""
    found = answers(job_of(objective, cluster=RANGE))
    assert found.layout == found.best
    values = np.broadcast_to(found.swept.values[OBJECTIVES[objective]], found.swept.feasible.shape)[
        found.swept.feasible
    ]
    best = values.max() if objective.startswith("maximize") else values.min()
    reached = float(np.ravel(values_of(found)[OBJECTIVES[objective]])[0])
    assert reached == pytest.approx(float(best), rel=1e-12)


#: Batch that keeps the GPUs of every number of nodes busy, not their hosts.
BUSY = {**TRAIN, "global_batch": 256}


def test_fewest_nodes_cost_least_and_most_nodes_are_fastest() -> None:
    cheapest = answers(job_of("minimize cost", cluster=RANGE, train=BUSY))
    fastest = answers(job_of("maximize tokens_per_second", cluster=RANGE, train=BUSY))
    assert (cheapest.layout["nodes"], fastest.layout["nodes"]) == (1, 4)


def test_without_an_objective_it_is_mfu() -> None:
    assert answers(job_of()).layout == answers(job_of("maximize mfu")).layout


def test_free_gpus_cost_by_the_hour_all_the_same() -> None:
    free = answers(job_of("minimize cost", cluster={"nodes": "1..4"}))
    priced = answers(job_of("minimize cost", cluster=RANGE))
    assert free.layout == free.best == priced.layout


def test_a_limit_may_bind_the_cost_of_a_range_of_nodes() -> None:
    cheapest = answers(job_of("minimize cost", cluster=RANGE, train=BUSY))
    limit = float(np.ravel(values_of(cheapest)["cost"])[0]) * 1.02
    clauses = f"maximize tokens_per_second\nrequire cost <= {limit:.6f} $"
    found = answers(job_of(clauses, cluster=RANGE, train=BUSY))
    assert found.layout == found.best
    assert float(np.ravel(values_of(found)["cost"])[0]) <= limit
    unlimited = answers(job_of("maximize tokens_per_second", cluster=RANGE, train=BUSY))
    assert found.layout != unlimited.layout


def test_the_second_objective_chooses_among_the_best_of_the_first() -> None:
    """Many layouts have no bubble; the fastest of them is taken, and the emptiest by the other order."""
    fast = answers(job_of("minimize bubble\nminimize step_time"))
    small = answers(job_of("minimize bubble\nminimize memory"))
    for found in (fast, small):
        assert found.layout == found.best
        assert found.layout["pp"] == 1
    assert values_of(fast)["step_time"] < values_of(small)["step_time"]
    assert values_of(small)["memory"] < values_of(fast)["memory"]


def test_ties_go_to_the_smaller_of_the_variable_that_comes_first() -> None:
    """Without a pipeline there is no bubble; of all such layouts tp is decided before the micro-batch."""
    clauses = "minimize bubble\nrequire tp * micro_batch == 2"
    found = answers(job_of(clauses, cluster={"nodes": 1}))
    assert found.layout == found.best
    assert (found.layout["tp"], found.layout["micro_batch"]) == (1, 2)


def test_a_preference_is_worth_one_percent() -> None:
    """Every value that some layout reaches within 5 % is preferred in turn; within 1 % it is taken."""
    free = answers(job_of())
    steps = free.swept.prices.step_ns
    for name, value in preferable(free, within=1.05):
        slower = int(steps[free.space.layouts[name] == value].min())
        found = answers(job_of(f"prefer {name} == {value}"))
        assert found.layout == found.best
        assert (found.layout[name] == value) == (slower <= steps.min() + steps.min() // 100)


def preferable(free: Answers, within: float) -> list[tuple[str, int]]:
    """Variables with values that layouts take at most so much slower than the best."""
    steps = free.swept.prices.step_ns
    near = steps <= steps.min() * within
    pairs = [
        (name, int(value))
        for name in ("zero", "micro_batch", "recompute_layers", "dp_shard", "cp")
        for value in np.unique(free.space.layouts[name][near])
    ]
    assert len(pairs) > 8
    return pairs


def test_of_two_preferences_the_one_that_can_be_met_is() -> None:
    found = answers(job_of("prefer zero == 3\nprefer tp == 8\nprefer pp == 8"))
    assert found.layout == found.best
    assert (found.layout["zero"], found.layout["tp"], found.layout["pp"]) == (3, 1, 1)


@pytest.mark.parametrize(
    ("clause", "code"),
    [
        ("maximize hfu", "PAR044"),
        ("require memory == 20 GiB", "PAR042"),
        ("require memory + 1 GiB <= 20 GiB", "PAR042"),
        ("require max(mfu, hfu) >= 10%", "PAR042"),
        ("require mfu <= hfu", "PAR042"),
        ("prefer memory in {1 GiB, 2 GiB}", "PAR042"),
    ],
)
def test_what_cannot_be_posted_is_refused(clause: str, code: str) -> None:
    job = job_of(clause)
    with pytest.raises(JobError) as error:
        plan(job, target_of(job))
    (complaint,) = error.value.diagnostics
    assert complaint.code == code
    assert complaint.span is not None and complaint.span.text in clause
    assert complaint.help


#: Goals with which layouts of every shape are near the best: the solver sees them all.
MANY: Parts = {"model": {**DENSE, "layers": 24}, "cluster": {"nodes": "1..16"}}
SPREAD = "minimize memory\nwithin = 20%\n"


def test_a_condition_of_too_many_variables_is_refused() -> None:
    few = "tp * pp * cp * dp_shard * micro_batch"
    names = f"{few} * vpp * microbatches * recompute_layers * zero * dp * dp_replicate * gpus"
    job = job_of(f"{SPREAD}require {names} >= 0", **MANY)
    with pytest.raises(JobError) as error:
        plan(job, target_of(job))
    (complaint,) = error.value.diagnostics
    assert complaint.code == "PAR043" and "joins 12 variables" in complaint.message
    job = job_of(f"{SPREAD}require {few} >= 0", **MANY)
    assert plan(job, target_of(job)).proof.status == "OPTIMAL"
