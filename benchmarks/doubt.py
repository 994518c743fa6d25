"""Whether the rule of choice and the doubt that a plan states hold: on whole spaces of layouts under drawn
truths, and on measured sweeps.

    python benchmarks/doubt.py [--draws N] [--json FILE] [--docs]

Every target of the examples, and of the guide's jobs (benchmarks/accuracy/guide.py), is a pair. A truth
draws for each mechanism of compiler/pricing/mechanisms.py how much longer its time is, by its spread, and
prices the pair's feasible layouts anew; what overlaps less, what a doubling of a degree and what a layout
costs beyond all terms is drawn too, and in half of the truths every way of splitting costs a further 1 to 2 %
that no term knows. The regret of a rule is how much more its layout costs than the truth's best. Of the
stated doubt, `chance` is to be the share of truths in which the chosen layout is best, `regret` its mean
regret; both without further costs.

`--json` writes {"pairs": [...], "rules": {...}, "measured": {...}}: a pair has "job", "target", "layouts"
(feasible ones), "stated" and "realised" (each {"chance", "regret"}), and "regret" by kind of truth and rule;
"rules" has the means of the latter; "measured" the stated and realised means over sweeps of measured runs,
the share of sweeps whose fastest layout is the chosen one or a named one ("named"), and their number. The
same draws give the same numbers. Exits 1 when nothing was priced.
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
from parc.compiler.algebra import Arrays
from parc.compiler.case import Case
from parc.compiler.pricing.mechanisms import (
    DOUBLING,
    LAYOUT,
    MECHANISMS,
    OVERLAP,
    WAYS,
    Floats,
    exposed,
    slowed,
)
from parc.compiler.search.doubt import RIVALS, doubt, outcome
from parc.compiler.search.simplicity import complexity
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import Swept, objectives, sweep
from parc.compiler.time.step import step_time
from parc.dsl.job import WITHIN, Job

#: Rules of choice: the simplest layout within so much of the best predicted one.
RULES = {
    "the best predicted": 0.0,
    "simplest within 1 %": 0.01,
    "within 2 %": 0.02,
    "within 5 %": 0.05,
}
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
    swept = sweep(Space(case))
    if not len(swept.order):
        return None
    rows = swept.by_objective
    stated = doubt(swept, swept.decisions(int(swept.order[0])))
    if stated is None:
        return None
    cost = _cost(swept)
    picked = {rule: simplest(swept, cost, within) for rule, within in RULES.items()}
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
    """Of the feasible layouts by objective, what the goal's first objective makes of a step, as a cost."""
    objective = objectives(swept.space.case)[0]
    value = swept.values[objective.quantity][swept.by_objective].astype(float)
    return np.asarray(value if objective.direction == "minimize" else 1 / value)


def simplest(swept: Swept, cost: Floats, within: float) -> int:
    """The place in `by_objective` of the simplest layout whose cost is within so much of the least."""
    near = np.flatnonzero(cost <= cost[0] * (1 + within)) if within else np.zeros(1, np.int64)
    rows = swept.by_objective[near]
    effort = complexity({name: column[rows] for name, column in swept.space.layouts.items()})
    return int(near[np.argmin(effort)])


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


def measured() -> dict[str, float]:
    """Stated and realised, mean over sweeps of measured runs, whose layouts are all that contend."""
    runs = [run for run in accuracy.score(accuracy.DATA).runs if _whole(run)]
    found = [_of_sweep(layouts) for layouts in scores.sweeps(runs)]
    return {**_means(found), "sweeps": len(found)}


def _whole(run: scores.Scored) -> bool:
    return accuracy.measured(run.row) and run.range is None and not run.setup.one_layer


def _of_sweep(layouts: Sequence[Sequence[scores.Scored]]) -> dict[str, float]:
    predicted, took = scores.seconds_of(layouts)
    near = predicted <= predicted.min() * (1 + WITHIN)
    effort = np.array([scores.effort_of(same[0]) for same in layouts])
    chosen = int(np.lexsort((predicted, effort, ~near))[0])
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
    rows = [(rule, *(percent(document["rules"][kind][rule]) for kind in KINDS)) for rule in RULES]
    seen = document["measured"]
    ends = ", ".join(
        f"{name.replace('_', ' ')} {percent(seen[name])}" for name in seen if name != "sweeps"
    )
    return "\n".join(
        [*table(head, lines), "", *table(("mean regret", *KINDS), rows), "",
         f"{seen['sweeps']} measured sweeps: {ends}"]
    )  # fmt: skip


def _both(pair: Mapping[str, Any], what: str) -> tuple[str, str]:
    return percent(pair["stated"][what]), percent(pair["realised"][what])


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the rule of choice and the stated doubt.")
    parser.add_argument("--draws", type=int, default=DRAWS, help="truths of each pair, at least 2")
    parser.add_argument("--json", type=Path, help="also write the report here")
    parser.add_argument("--docs", action="store_true", help="renew the table of docs/cost-model.md")
    asked = parser.parse_args(given)
    if asked.draws < 2:
        parser.error("--draws is 2 at least")
    pairs = [pair for name, case in cases() if (pair := judged(name, case, asked.draws))]
    if not pairs:
        print("doubt: no pair has a layout", file=sys.stderr)
        return 1
    document = {"pairs": list(map(asdict, pairs)), "rules": rules(pairs), "measured": measured()}
    if asked.json:
        asked.json.write_text(json.dumps(document, indent=2) + "\n")
    if asked.docs:
        document_tables.write_doubt(document)
    print(text(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
