"""A job on a target -> the few layouts whose short runs tell most about which layout is best there.

What a run takes tells of its layout, of those that split the model alike, and by the mechanisms that it
shares with others (compiler/pricing/mechanisms.py) of all. The plan's own layout is the first: a single time
tells mostly of what all have in common. Each further one is that with which the layout that would be chosen
after the runs is expected to be least worse than the best, over drawn truths (the knowledge gradient of
Frazier, Powell and Dayanik 2009, INFORMS Journal on Computing 21).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..backends import TARGETS
from ..compiler.algebra import Integers
from ..compiler.case import Case
from ..compiler.plan import Plan
from ..compiler.pricing.estimate import estimate_layout
from ..compiler.pricing.mechanisms import RUN, SPREADS, Floats, normal_numbers, shares
from ..compiler.search.best_first import explored
from ..compiler.search.doubt import contenders
from ..compiler.search.measured_layouts import believed, cost_of, ran
from ..compiler.search.space import Space
from ..compiler.search.sweep import Swept
from ..compiler.variables import ORDER
from ..dsl.job import Job, Launch, TargetSpec, Train

#: Steps of a trial: its first ones warm up, and the others have one time (calibrate/steady_state.py).
STEPS = 20
#: Drawn truths.
DRAWS = 500
#: What keeps a covariance of nearly equal layouts positive, beside variances of 1e-4 and more.
JITTER = 1e-9


@dataclass(frozen=True)
class Trials:
    """`plans` are of the short runs, in the order in which they tell most. `regret_before` and `regret_after`
    are the shares by which the layout chosen now, and after them all, is expected to miss the best.
    """

    plan: Plan
    plans: tuple[Plan, ...]
    regret_before: float
    regret_after: float

    @property
    def seconds(self) -> float:
        """Predicted time of all steps, one run after another; what starting takes is not in it."""
        return sum(STEPS * plan.estimate.step_seconds for plan in self.plans)


def trials(plan: Plan, count: int) -> Trials:
    """`count` trials of the plan's job on its target and nodes; fewer where fewer layouts may be the best."""
    case = Case(plan.job, TARGETS[plan.target].target)
    decided = {name: getattr(plan.layout, name) for name in ORDER}
    swept = explored(Space(case))
    rows = contenders(swept, decided)
    rows = rows[swept.space.layouts["nodes"][rows] == plan.layout.nodes]
    found = chosen(prior(swept, rows), ran(swept, rows), count)
    short = short_job(plan.job, plan.target)
    layouts = [swept.decisions(int(rows[place])) for place in found.places]
    return Trials(
        plan=plan,
        plans=tuple(_trial(plan, short, layout) for layout in layouts),
        regret_before=found.regrets[0],
        regret_after=found.regrets[-1],
    )


def _trial(plan: Plan, job: Job, layout: Mapping[str, int]) -> Plan:
    case = Case(job, TARGETS[plan.target].target)
    estimate = estimate_layout(case, layout)
    return Plan(job=job, target=plan.target, estimate=estimate, proof=plan.proof)


def short_job(job: Job, target: str) -> Job:
    """The job for STEPS steps, which start from drawn weights, report each step and leave no checkpoint."""
    changed: dict[str, object] = {
        "tokens": None,
        "steps": STEPS,
        "warmup": 0,
        "decay_steps": None,
        "ramp_from": None,
        "ramp_tokens": None,
        "weights": None,
        "tracker": None,
    }
    train: Train = job.train.model_copy(update=changed)
    options = job.options(target).model_copy(update=dict(TARGETS[target].brief))
    once = {"requeue" if isinstance(job.launch, Launch) else "restarts": 0, "signal": 0.0}
    launch = job.launch and job.launch.model_copy(update=once)
    spec = TargetSpec(name=target, options=options)
    own = {"train": train, "targets": (spec,), "launch": launch, "previous": None}
    return job.model_copy(update=own)


@dataclass(frozen=True)
class Prior:
    """Beliefs about layouts: ln(cost) of each, and its covariance."""

    mean: Floats
    covariance: Floats


@dataclass(frozen=True)
class Chosen:
    """Places of the layouts to run, and the expected regret before and after each."""

    places: tuple[int, ...]
    regrets: tuple[float, ...]


def prior(swept: Swept, rows: Integers) -> Prior:
    columns = {name: column[rows] for name, column in swept.space.layouts.items()}
    errors = SPREADS[:, None] * shares(swept.space.case, columns)
    moved, spread = believed(swept, rows)
    return Prior(cost_of(swept, rows) + moved, errors.T @ errors + spread)


def chosen(known: Prior, ran: Sequence[bool] | np.ndarray, count: int) -> Chosen:
    """The `count` layouts to run, none that `ran`; the first of all, unless it did, is first."""
    truths, noise = _drawn(known)
    places: list[int] = []
    regrets = [_regret(known, truths, noise, [])]
    free = [place for place in range(len(known.mean)) if not ran[place]]
    for _ in range(min(count, len(free))):
        tried = free if places or free[0] else free[:1]
        expected = [_regret(known, truths, noise, [*places, place]) for place in tried]
        best = int(np.argmin(expected))
        places.append(free.pop(best))
        regrets.append(expected[best])
    return Chosen(tuple(places), tuple(regrets))


def after(known: Prior, places: Sequence[int], measured: Floats) -> Floats:
    """Expected ln(cost) of every layout, last axis, once those at `places` have the `measured` ln(cost)."""
    runs = list(places)
    between = known.covariance[np.ix_(runs, runs)] + RUN**2 * np.eye(len(runs))
    gains = np.linalg.solve(between, known.covariance[runs])
    return np.asarray(known.mean + (measured - known.mean[runs]) @ gains)


def _drawn(known: Prior) -> tuple[Floats, Floats]:
    """ln(cost) of every layout in DRAWS truths, and the noise of a run of each."""
    size = len(known.mean)
    normal = normal_numbers(2 * DRAWS * size).reshape(2, DRAWS, size)
    root = np.linalg.cholesky(known.covariance + JITTER * np.eye(size))
    return known.mean + normal[0] @ root.T, RUN * normal[1]


def _regret(known: Prior, truths: Floats, noise: Floats, places: list[int]) -> float:
    """By what share the layout that is chosen after runs of those at `places` is worse than the best."""
    if places:
        picked = after(known, places, truths[:, places] + noise[:, places]).argmin(axis=1)
    else:
        picked = np.full(len(truths), known.mean.argmin())
    worse = truths[np.arange(len(truths)), picked] - truths.min(axis=1)
    return float(np.mean(np.expm1(worse)))
