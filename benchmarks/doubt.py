"""Whether the rule of choice and the doubt that a plan states hold: on spaces of layouts under drawn truths,
and on measured sweeps.

    python benchmarks/doubt.py [--draws N] [--json FILE] [--docs]

Every target of the examples, and of the guide's jobs (benchmarks/accuracy/guide.py), is a pair. A truth
draws for each mechanism of compiler/pricing/mechanisms.py how much longer its time is, by its spread, and
prices the pair's feasible layouts anew, of a large space those near the best and a sample of the others; what
overlaps less, what a doubling of a degree and what a layout costs beyond all terms is drawn too, and in half
of the truths every way of splitting costs a further 1 to 2 % that no term knows. The regret of a rule is how
much more its layout costs than the truth's best, or than the fastest of a measured sweep. Of the stated
doubt, `chance` is to be the share of truths in which the chosen layout is best, `regret` its mean regret;
both without further costs.

`--json` writes {"pairs": [...], "rules": {...}, "measured": {...}}: a pair has "job", "target", "layouts"
(feasible ones), "stated" and "realised" (each {"chance", "regret"}), and "regret" by kind of truth and rule;
"rules" has the means of the latter, and those over sweeps of measured runs; "measured" the stated and
realised means over those sweeps, the share of them whose fastest layout is the chosen one or a named one
("named"), and their number. The same draws give the same numbers. Exits 1 when nothing was priced.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import parc

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs by its path
from benchmarks.accuracy import accuracy, guide
from benchmarks.accuracy.fit_spreads import shares_of
from benchmarks.accuracy.report import document_tables, scores
from benchmarks.accuracy.report.plain_text import percent, table
from benchmarks.speed import EXAMPLES
from parc.backends import BACKENDS
from parc.compiler.algebra import Arrays, Integers
from parc.compiler.case import Case
from parc.compiler.pricing.mechanisms import (
    DOUBLING,
    LAYOUT,
    MECHANISMS,
    OVERLAP,
    WAYS,
    Floats,
    drawn_errors,
    exposed,
    shares,
    slowed,
)
from parc.compiler.search.best_first import explored
from parc.compiler.search.doubt import RIVALS, contenders, doubt, outcome
from parc.compiler.search.sample import thinned
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import Swept, objectives
from parc.compiler.time.step import step_time
from parc.dsl.job import WITHIN, Job

#: Rules of choice: the simplest layout within so much of the best predicted one.
RULES = {
    "the best predicted": 0.0,
    "simplest within 1 %": 0.01,
    "within 2 %": 0.02,
    "within 5 %": 0.05,
}
#: Rules that go by the stated doubt instead, and the draws that tell layouts of nearly one regret apart.
LEAST_REGRET = "of least expected regret within 1 %"
LIKELIEST = "the best predicted of the likeliest way of splitting"
MANY = 20_000
#: What each way of splitting costs in half of the truths beyond all terms, from and to.
UNKNOWN = (0.01, 0.02)
KINDS = ("no further costs", "ways of splitting cost more")
DRAWS = 100


@dataclass(frozen=True)
class Pair:
    """One job on one target: what was stated and what came about, as shares."""

    job: str
    target: str
    layouts: int
    stated: Mapping[str, float]
    realised: Mapping[str, float]
    regret: Mapping[str, Mapping[str, float]]


def jobs() -> Iterator[tuple[str, Job]]:
    """Every job with its name: the examples', and the guide's on each target that it has."""
    for name, path in EXAMPLES.items():
        yield name, parc.load(path)
    for row in guide.recommended():
        for target in guide.TARGETS:
            yield f"{row.model} on {row.gpus:,} GPUs, {row.precision or 'bf16'}", guide.job_of(
                row, target
            )


def cases() -> Iterator[tuple[str, Case]]:
    """Every pair whose target has the job."""
    for name, job in jobs():
        for spec in job.targets:
            target = BACKENDS[spec.name].target
            if not any(each.severity == "error" for each in target.refuses(job)):
                yield name, Case(job, target)


def judged(name: str, case: Case, draws: int) -> Pair | None:
    """None where no layout is feasible, or the goal does not follow from the time of a step."""
    swept = explored(Space(case))
    if swept.explored is not None:
        swept = thinned(case).with_rows(swept)
    if not len(swept.order):
        return None
    rows = swept.by_objective
    stated = doubt(swept, swept.decisions(int(swept.order[0])))
    if stated is None:
        return None
    cost = _cost(swept)
    picked = {rule: simplest(swept, cost, within) for rule, within in RULES.items()}
    picked |= _doubted(swept, cost)
    chosen = int(np.flatnonzero(rows == swept.order[0])[0])
    regrets: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    best: list[tuple[bool, float]] = []
    for kind, true in truths(swept, cost, draws):
        away = true / true.min() - 1
        regrets[kind].append({rule: float(away[row]) for rule, row in picked.items()})
        if kind == KINDS[0]:
            best.append((bool(away[chosen] == 0), float(away[chosen])))
    return Pair(
        job=name,
        target=case.target.name,
        layouts=len(rows),
        stated={"chance": stated.chance, "regret": stated.regret},
        realised={"chance": mean(hit for hit, _ in best), "regret": mean(loss for _, loss in best)},
        regret={kind: _means(found) for kind, found in regrets.items()},
    )


def _cost(swept: Swept) -> Floats:
    """Cost of a step by the goal's first objective, for the feasible layouts ordered by objective."""
    objective = objectives(swept.space.case)[0]
    value = swept.values[objective.quantity][swept.by_objective].astype(float)
    return np.asarray(value if objective.direction == "minimize" else 1 / value)


def simplest(swept: Swept, cost: Floats, within: float) -> int:
    """The place in `by_objective` of the layout that a plan chooses of those whose cost is within so much of
    the least: the simplest, in which headroom counts."""
    near = np.flatnonzero(cost <= cost[0] * (1 + within)) if within else np.zeros(1, np.int64)
    return int(near[np.argmin(swept.effort(swept.by_objective[near]))])


def by_doubt(cost: Floats, found: Floats, split: Integers) -> dict[str, int]:
    """Place of the layout that each rule by doubt takes, from ln(cost) of layouts, their mechanisms' shares
    and the number of their way of splitting."""
    true = cost + drawn_errors(found, MANY)
    regret = np.expm1(true - true.min(axis=1, keepdims=True)).mean(axis=0)
    near = cost <= cost.min() + np.log1p(WITHIN)
    best = np.bincount(true.argmin(axis=1), minlength=len(cost))
    likeliest = split == np.bincount(split, best).argmax()
    return {
        LEAST_REGRET: int(np.where(near, regret, np.inf).argmin()),
        LIKELIEST: int(np.where(likeliest, cost, np.inf).argmin()),
    }


def _doubted(swept: Swept, cost: Floats) -> dict[str, int]:
    """The places in `by_objective` of what the rules by doubt take of a plan's contenders."""
    rows = contenders(swept, swept.decisions(int(swept.order[0])))
    places = np.array([np.flatnonzero(swept.by_objective == row)[0] for row in rows])
    columns = {name: column[rows] for name, column in swept.space.layouts.items()}
    found = by_doubt(np.log(cost[places]), shares(swept.space.case, columns), splits(columns))
    return {rule: int(places[place]) for rule, place in found.items()}


def splits(columns: Mapping[str, Integers]) -> Integers:
    """The number of each layout's way of splitting."""
    found = np.unique([columns[name] for name in WAYS], axis=1, return_inverse=True)[1]
    return np.ravel(found)


def truths(swept: Swept, cost: Floats, draws: int) -> Iterator[tuple[str, Floats]]:
    """`draws` kinds of truths, and the true cost of every feasible layout in each."""
    case, random = swept.space.case, np.random.RandomState(1)
    columns = {name: column[swept.by_objective] for name, column in swept.space.layouts.items()}
    predicted = step_time(Arrays(case, columns))[0]
    overlapped = np.maximum(step_time(Arrays(exposed(case), columns))[0] / predicted - 1, 0.0)
    doublings = np.log2([columns[name] for name in WAYS])
    for number in range(draws):
        spreads = np.array([each.spread for each in MECHANISMS])
        factors = np.exp(spreads * random.standard_normal(len(MECHANISMS)))
        step = step_time(Arrays(slowed(case, factors), columns))[0] / predicted
        log_error = OVERLAP * random.standard_normal() * overlapped
        log_error += DOUBLING * random.standard_normal(len(WAYS)) @ doublings
        log_error += LAYOUT * random.standard_normal(len(cost))
        unknown = random.uniform(*UNKNOWN, len(WAYS)) @ (doublings > 0)
        kind = KINDS[number % 2]
        yield kind, cost * step * np.exp(log_error + (unknown if kind == KINDS[1] else 0.0))


def _means(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: mean(each[name] for each in found) for name in found[0]}


def rules(pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """Mean regret of each rule over pairs, by kind of truth."""
    return {kind: _means([pair.regret[kind] for pair in pairs]) for kind in KINDS}


def sweeps() -> list[list[list[scores.Scored]]]:
    """Sweeps of measured runs, whose layouts are all that contend."""
    return scores.sweeps([run for run in accuracy.score(accuracy.DATA).runs if _whole(run)])


def measured(found: Sequence[Sequence[Sequence[scores.Scored]]]) -> dict[str, float]:
    """Stated and realised, mean over sweeps."""
    return {**_means([_of_sweep(layouts) for layouts in found]), "sweeps": len(found)}


def regrets_of(layouts: Sequence[Sequence[scores.Scored]]) -> dict[str, float]:
    """By what share the layout that each rule takes of a sweep ran slower than the fastest."""
    predicted, took = scores.seconds_of(layouts)
    first = [same[0] for same in layouts]
    effort = np.array([scores.effort_of(run) for run in first])
    picked = {rule: _simplest(predicted, effort, within) for rule, within in RULES.items()}
    ways = {name: np.array([run.prediction.layout[name] for run in first]) for name in WAYS}
    found = np.array([shares_of(run) for run in first]).T
    picked |= by_doubt(np.log(predicted), found, splits(ways))
    return {rule: float(took[place] / took.min() - 1) for rule, place in picked.items()}


def _simplest(predicted: Floats, effort: Integers, within: float) -> int:
    """The place of the simplest layout that is predicted within so much of the best."""
    near = predicted <= predicted.min() * (1 + within)
    return int(np.lexsort((predicted, effort, ~near))[0])


def _whole(run: scores.Scored) -> bool:
    return accuracy.measured(run.row) and run.range is None and not run.setup.one_layer


def _of_sweep(layouts: Sequence[Sequence[scores.Scored]]) -> dict[str, float]:
    predicted, took = scores.seconds_of(layouts)
    effort = np.array([scores.effort_of(same[0]) for same in layouts])
    chosen = _simplest(predicted, effort, WITHIN)
    found = np.array([shares_of(same[0]) for same in layouts]).T
    chances, regret = outcome(np.log(predicted), found, chosen)
    fastest = int(np.argmin(took))
    others = [row for row in np.argsort(-chances, kind="stable") if row != chosen][:RIVALS]
    return {
        "stated_chance": float(chances[chosen]),
        "realised_chance": float(took[chosen] == took.min()),
        "stated_regret": regret,
        "realised_regret": float(took[chosen] / took.min() - 1),
        "named": float(fastest in (chosen, *others)),
    }


def text(document: Mapping[str, Any]) -> str:
    head = ("job", "target", "layouts", "best: stated", "realised", "regret: stated", "realised")
    lines = [
        (
            pair["job"],
            pair["target"],
            f"{pair['layouts']:,}",
            *_both(pair, "chance"),
            *_both(pair, "regret"),
        )
        for pair in document["pairs"]
    ]
    kinds = document["rules"]
    rows = [(rule, *(percent(kinds[kind][rule]) for kind in kinds)) for rule in kinds[KINDS[0]]]
    seen = document["measured"]
    ends = ", ".join(
        f"{name.replace('_', ' ')} {percent(seen[name])}" for name in seen if name != "sweeps"
    )
    return "\n".join(
        [*table(head, lines), "", *table(("mean regret", *kinds), rows), "",
         f"{seen['sweeps']} measured sweeps: {ends}"]
    )  # fmt: skip


def _both(pair: Mapping[str, Any], what: str) -> tuple[str, str]:
    return percent(pair["stated"][what]), percent(pair["realised"][what])


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the rule of choice and the stated doubt.")
    parser.add_argument("--draws", type=int, default=DRAWS, help="truths of each pair, at least 2")
    parser.add_argument("--json", type=Path, help="also write the report here")
    parser.add_argument(
        "--docs", action="store_true", help="renew the tables of docs/cost-model/doubt.md"
    )
    asked = parser.parse_args(given)
    if asked.draws < 2:
        parser.error("--draws is 2 at least")
    pairs = [pair for name, case in cases() if (pair := judged(name, case, asked.draws))]
    if not pairs:
        print("doubt: no pair has a layout", file=sys.stderr)
        return 1
    found = sweeps()
    of_sweeps = _means([regrets_of(layouts) for layouts in found])
    document = {
        "pairs": list(map(asdict, pairs)),
        "rules": {**rules(pairs), f"{len(found)} measured sweeps": of_sweeps},
        "measured": measured(found),
    }
    if asked.json:
        asked.json.write_text(json.dumps(document, indent=2) + "\n")
    if asked.docs:
        document_tables.write_doubt(document)
    print(text(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
