"""Fits how far each mechanism of the cost model may be misjudged to what measured runs leave unexplained.

    python benchmarks/accuracy/fit_spreads.py [--data FILE.csv]

The errors ln(measured / predicted) of one source's runs of one job share an error of each mechanism, weighed
by the share of a step that it decides (compiler/pricing/mechanisms.py), an error of each doubling of a
degree, and one of all layouts, which ranks none and is fitted only to be set apart; a layout has one of its
own, and a run that of its measurement, whose size is the source's. The variances are the most likely ones for
errors distributed as Student's t, by expectation and maximisation (Liu and Rubin 1995, Statistica Sinica 5),
every source weighing the same.

Prints each deviation, between which it lies when any one source is left out, and the log-likelihood that is
lost at half and at twice of it: where little is lost, runs say little of it. It changes no file. Volta is
left out: what ran on it had unfused attention, which no target emits. The same file gives the same numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lgamma, log, pi
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy import accuracy, fit
from benchmarks.accuracy.report import scores
from benchmarks.accuracy.report.scores import Scored
from benchmarks.accuracy.rows.csv_rows import Unreadable
from parc.compiler.pricing.estimate import one_row
from parc.compiler.pricing.mechanisms import LAYOUT, NAMES, SPREADS, WAYS, Floats, shares
from parc.compiler.variables import ORDER

#: Degrees of freedom of the errors: some jobs are misjudged much more than others, and must not decide.
FREEDOM = 4
#: What is fitted: the errors of NAMES, of which those of WAYS share one, that of all layouts, that of one.
FITTED = (*NAMES[: -len(WAYS)], "a doubling", "all layouts", "a layout")
OWNERS = np.array(
    [min(number, len(FITTED) - 3) for number in range(len(NAMES))] + [len(FITTED) - 2]
)
#: Steps of the fit, and the change of a deviation below which it ends.
STEPS, SETTLED = 300, 2e-5
#: Exponent of a step: beyond 1 to arrive sooner.
STRIDE = 1.7
#: The deviation from which the fit starts, and that of a measurement, which counts as two of its runs.
START, REPEATED = 0.15, 0.01


@dataclass(frozen=True)
class Sweep:
    """Runs of one job by one source: errors, shares of errors (runs, errors), and which run has which layout
    (runs, layouts)."""

    source: str
    errors: Floats
    shares: Floats
    layouts: Floats


@dataclass(frozen=True)
class Fitted:
    """Variances of FITTED, and of measurements by source."""

    variances: Floats
    noise: Mapping[str, float]


def runs_of(path: Path) -> list[Scored]:
    """The runs that tell of the spreads. Raises Unreadable."""
    runs = scores.timed(accuracy.score(path).runs)
    return [run for run in runs if accuracy.measured(run.row) and _tells(run)]


def _tells(run: Scored) -> bool:
    known = run.range is None and not run.setup.one_layer
    return known and run.setup.asked.cluster.gpu.name not in fit.VOLTA


def sweeps(runs: Sequence[Scored]) -> list[Sweep]:
    return [sweep_of(members) for members in scores.gather(runs, scores.job_of).values()]


def sweep_of(members: Sequence[Scored]) -> Sweep:
    names = [scores.layout_of(run) for run in members]
    known = list(dict.fromkeys(names))
    return Sweep(
        source=members[0].row.source,
        errors=np.array([-np.log1p(run.error) for run in members]),
        shares=np.array([[*shares_of(run), 1.0] for run in members]),
        layouts=np.array([[float(name == each) for each in known] for name in names]),
    )


def shares_of(run: Scored) -> Floats:
    """The shares of every error of NAMES in a run."""
    layout = run.prediction.layout
    columns = one_row(run.setup.case, {name: layout[name] for name in ORDER})
    return shares(run.setup.case, columns)[:, 0]


def covariance(sweep: Sweep, variances: Floats, noise: float) -> Floats:
    common = (sweep.shares * variances[OWNERS]) @ sweep.shares.T
    own = variances[-1] * sweep.layouts @ sweep.layouts.T
    return np.asarray(common + own + noise * np.eye(len(sweep.errors)))


def likelihood(found: Sequence[Sweep], fitted: Fitted) -> float:
    """Logarithm of the likelihood of errors distributed as Student's t, every source weighing the same."""
    weights, total = _weights(found), 0.0
    for sweep in found:
        size = len(sweep.errors)
        spread = covariance(sweep, fitted.variances, fitted.noise[sweep.source])
        distance = float(sweep.errors @ np.linalg.solve(spread, sweep.errors))
        constant = lgamma((FREEDOM + size) / 2) - lgamma(FREEDOM / 2) - size / 2 * log(FREEDOM * pi)
        density = constant - np.linalg.slogdet(spread)[1] / 2
        total += weights[sweep.source] * (
            density - (FREEDOM + size) / 2 * np.log1p(distance / FREEDOM)
        )
    return float(total)


def _weights(found: Sequence[Sweep]) -> dict[str, float]:
    """Weight of a sweep of each source: one over the number of its sweeps."""
    return {name: 1 / count for name, count in Counter(each.source for each in found).items()}


def fitted_to(found: Sequence[Sweep]) -> Fitted:
    weights = _weights(found)
    now = Fitted(np.full(len(FITTED), START**2), dict.fromkeys(weights, REPEATED**2))
    for _ in range(STEPS):
        then, now = now, _step(found, weights, now)
        if np.abs(np.sqrt(now.variances) - np.sqrt(then.variances)).max() < SETTLED:
            break
    return now


def _step(found: Sequence[Sweep], weights: Mapping[str, float], now: Fitted) -> Fitted:
    """One step: the expected squares of all errors under the variances of now are those of next."""
    squares, counts = np.zeros(len(FITTED)), np.zeros(len(FITTED))
    noise = dict.fromkeys(weights, 2 * REPEATED**2)
    rows = dict.fromkeys(weights, 2)
    for sweep in found:
        expected, measured = _expected(sweep, now)
        present = np.abs(sweep.shares).max(axis=0) > 1e-4
        weight = weights[sweep.source]
        np.add.at(squares, OWNERS[present], weight * expected[:-1][present])
        np.add.at(counts, OWNERS[present], weight)
        squares[-1] += weight * expected[-1]
        counts[-1] += weight * sweep.layouts.shape[1]
        noise[sweep.source] += measured
        rows[sweep.source] += len(sweep.errors)
    ratio = squares / np.maximum(counts, 1e-12) / now.variances
    variances = np.where(counts > 0, now.variances * ratio**STRIDE, now.variances)
    return Fitted(variances, {name: noise[name] / rows[name] for name in noise})


def _expected(sweep: Sweep, now: Fitted) -> tuple[Floats, float]:
    """Expected squares of the errors of a sweep: of each share's, the sum over its layouts; and the sum over
    its measurements."""
    noise, own = now.noise[sweep.source], now.variances[-1]
    inverse = np.linalg.inv(covariance(sweep, now.variances, noise))
    size, distance = len(sweep.errors), sweep.errors @ inverse @ sweep.errors
    pulled = np.sqrt((FREEDOM + size) / (FREEDOM + distance)) * (inverse @ sweep.errors)
    common = now.variances[OWNERS]
    left = common - common**2 * np.einsum("ij,ik,kj->j", sweep.shares, inverse, sweep.shares)
    of_common = (common * (sweep.shares.T @ pulled)) ** 2 + left
    tied = sweep.layouts @ sweep.layouts.T
    of_layouts = own**2 * (pulled @ tied @ pulled - np.trace(inverse @ tied))
    of_noise = noise**2 * (pulled @ pulled - np.trace(inverse)) + noise * size
    return np.append(of_common, of_layouts + own * sweep.layouts.shape[1]), float(of_noise)


def left_out(found: Sequence[Sweep]) -> dict[str, Floats]:
    """The deviations without each source."""
    return {
        name: np.sqrt(fitted_to([each for each in found if each.source != name]).variances)
        for name in _weights(found)
    }


def in_use() -> dict[str, float]:
    """The deviations that parc goes by; none of all layouts alike."""
    own = dict(zip(NAMES, map(float, SPREADS), strict=True))
    return {**own, "a doubling": own[WAYS[0]], "a layout": LAYOUT}


def report(found: Sequence[Sweep]) -> str:
    all_of_them, others = fitted_to(found), np.array(list(left_out(found).values()))
    best = likelihood(found, all_of_them)
    used = in_use()

    def lost(number: int, factor: float) -> float:
        variances = all_of_them.variances.copy()
        variances[number] *= factor**2
        return best - likelihood(found, Fitted(variances, all_of_them.noise))

    lines = [f"{len(found)} jobs of {len(others)} sources"]
    lines.append(
        f"{'deviation of':16}{'in use':>8}{'fitted':>8}{'left out':>18}{'lost at 1/2':>13}{'2':>7}"
    )
    for number, name in enumerate(FITTED):
        span = f"{others[:, number].min():.3f} to {others[:, number].max():.3f}"
        value = f"{used[name]:8.3f}" if name in used else " " * 8
        lines.append(
            f"{name:16}{value}{all_of_them.variances[number] ** 0.5:8.3f}{span:>18}"
            f"{lost(number, 0.5):13.2f}{lost(number, 2.0):7.2f}"
        )
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=accuracy.DATA, help="CSV of measured runs")
    asked = parser.parse_args(given)
    try:
        runs = runs_of(asked.data)
    except Unreadable as error:
        print(f"fit_spreads: {error}", file=sys.stderr)
        return 2
    if len({run.row.source for run in runs}) < 2:
        print("fit_spreads: fewer than two sources; nothing could be left out", file=sys.stderr)
        return 1
    print(report(sweeps(runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
