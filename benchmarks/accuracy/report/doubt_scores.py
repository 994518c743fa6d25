"""Predicted and measured runs -> whether bands and risks are what they say: the share of runs in their band,
and how often runs of a predicted risk ran out of memory."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import numpy as np

from benchmarks.accuracy.fit_by_descent import Floats
from benchmarks.accuracy.report.scores import Report, Scored, gather, timed
from benchmarks.accuracy.setups.stacks import PLAIN
from parc.compiler.familiarity import spread
from parc.compiler.risk import FOUR_OF_FIVE, out_of_memory

#: Upper ends of the predicted risks of the reliability table.
RISKS = (0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
#: A probability of less is taken as so much in the log loss.
LEAST = 1e-6
#: Runs next to each other in predicted risk whose predicted and observed rates are compared.
NEIGHBOURS = 50


def in_band(runs: Sequence[Scored]) -> float | None:
    """Share of the timed runs of a source in their 80 % band, the mean over sources."""
    by_source = gather(timed(runs), lambda run: run.row.source)
    shares = [mean(lies_in_band(run) for run in of_it) for of_it in by_source.values()]
    return mean(shares) if shares else None


def lies_in_band(run: Scored) -> bool:
    """Whether a run lies in the band that is printed of it: its stack is known where it has an entry."""
    known = run.setup.case.known(run.setup.stack is not PLAIN)
    return bool(abs(np.log1p(run.error)) <= FOUR_OF_FIVE * spread(known))


def risk_of(run: Scored) -> float:
    """The predicted probability that a run is out of memory."""
    found = run.prediction
    return out_of_memory(found.bytes, found.capacity, run.setup.stack.memory_spread)


def risk(runs: Sequence[Scored]) -> Report:
    """Log loss, Brier score and reliability of the predicted risk, of all runs and by source that has runs
    which ran out."""
    by_source = gather(runs, lambda run: run.row.source)
    told = {name: of_it for name, of_it in by_source.items() if any(run.row.oom for run in of_it)}
    return {**_risk(runs), "by_source": {name: _risk(told[name]) for name in sorted(told)}}


def _risk(runs: Sequence[Scored]) -> Report:
    predicted = np.array([risk_of(run) for run in runs])
    observed = np.array([float(run.row.oom or 0) for run in runs])
    if not len(runs):
        return {"n": 0, "log_loss": None, "brier": None, "worst_fifty": None, "reliability": []}
    sure = np.clip(np.where(observed > 0, predicted, 1 - predicted), LEAST, 1.0)
    return {
        "n": len(runs),
        "log_loss": float(-np.mean(np.log(sure))),
        "brier": float(np.mean((predicted - observed) ** 2)),
        "worst_fifty": worst_fifty(predicted, observed),
        "reliability": _reliability(predicted, observed),
    }


def worst_fifty(predicted: Floats, observed: Floats) -> float | None:
    """The largest difference between predicted and observed rate of NEIGHBOURS runs in order of predicted
    risk; None of fewer runs."""
    if len(predicted) < NEIGHBOURS:
        return None
    difference = (predicted - observed)[np.argsort(predicted, kind="stable")]
    sums = np.concatenate([[0.0], np.cumsum(difference)])
    return float(np.max(np.abs(sums[NEIGHBOURS:] - sums[:-NEIGHBOURS])) / NEIGHBOURS)


def _reliability(predicted: Floats, observed: Floats) -> list[Report]:
    """By predicted risk: runs, their mean risk, and the share of them that ran out."""
    place = np.searchsorted(RISKS, predicted)
    found = []
    for number, (low, high) in enumerate(zip((0.0, *RISKS), RISKS, strict=False)):
        chosen = place == number
        if chosen.any():
            found.append(
                {
                    "from": low,
                    "to": high,
                    "n": int(chosen.sum()),
                    "predicted": float(predicted[chosen].mean()),
                    "observed": float(observed[chosen].mean()),
                }
            )
    return found
