"""Measured runs of a cluster -> its parameters as they are written, and how far predictions may be off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from statistics import median

import numpy as np

from ..compiler.case import Case
from ..compiler.pipeline.even_split import Split
from ..compiler.pricing.estimate import one_row, time_by_part
from ..compiler.pricing.ranks import Ranks
from ..compiler.pricing.varied import varied_parts
from ..compiler.search.measured_layouts import LEAST as LEAST_RATIO
from ..compiler.search.measured_layouts import MOST as MOST_RATIO
from ..compiler.search.measured_layouts import entry
from ..dsl.hardware import Cluster
from ..dsl.job import Job
from .measured_run import MeasuredRun
from .parameters import (
    PARAMETERS,
    Floats,
    Parameter,
    at,
    bounds,
    figure,
    moved,
    with_settings,
)
from .posterior import Observation, Posterior, posterior

#: Significant digits of what is written.
DIGITS = 3
#: The least error that is written.
LEAST = 0.005
#: Share of its usual deviation that is left of a parameter of which the runs tell nothing.
UNTOLD = 0.9
#: Settings by name.
Settings = Mapping[str, float]


@dataclass(frozen=True)
class FittedParameter:
    """One parameter: its settings before and after. `std` is the deviation of its error given the runs, and
    `left` that over its usual deviation: 1 where they tell nothing."""

    parameter: Parameter
    before: Settings
    after: Settings
    std: float
    left: float

    @property
    def told(self) -> bool:
        return self.left <= UNTOLD


@dataclass(frozen=True)
class FittedSite:
    """A cluster as it is written to a file. `spread` is the deviation of ln(measured / predicted) of a run
    that was not calibrated on; `counts` what each run counts, 1 where it is met."""

    cluster: Cluster
    parameters: tuple[FittedParameter, ...]
    spread: float
    counts: tuple[float, ...]


def fit_site(cluster: Cluster, runs: Sequence[Sequence[MeasuredRun]]) -> FittedSite:
    """The site of `runs`, of which those of one layout come together; `cluster` has the values before."""
    found = posterior([observation(cluster, same) for same in runs], bounds(cluster))
    settings = written(cluster, found.errors)
    spread = float(f"{found.spread:.{DIGITS}g}")
    fitted = with_settings(cluster, settings)
    gpu = fitted.gpu.model_copy(update={"step_spread": min(spread, 1.0)})
    return FittedSite(
        cluster=fitted.model_copy(update={"gpu": gpu}),
        parameters=tuple(_parameters(cluster, settings, found)),
        spread=spread,
        counts=tuple(map(float, found.weights)),
    )


def written(cluster: Cluster, errors: Floats) -> dict[str, float]:
    """Every setting of the parameters, rounded to DIGITS; as it was where the error would hardly show, and
    where the GPU has no such rate."""
    found = moved(cluster, errors)
    for each, error in zip(PARAMETERS, errors, strict=True):
        same = abs(error) < LEAST or (each.needs and getattr(cluster.gpu, each.needs) is None)
        for name in each.settings:
            rounded = float(f"{found[name]:.{DIGITS}g}")
            found[name] = figure(cluster, name) if same else rounded
    return found


def _parameters(
    cluster: Cluster, settings: Settings, found: Posterior
) -> Sequence[FittedParameter]:
    left = found.std / found.usual
    return [
        FittedParameter(
            parameter=each,
            before={name: figure(cluster, name) for name in each.settings},
            after={name: settings[name] for name in each.settings},
            std=float(std),
            left=float(share),
        )
        for each, std, share in zip(PARAMETERS, found.std, left, strict=True)
        if not each.needs or getattr(cluster.gpu, each.needs) is not None
    ]


def log_seconds(case: Case, layout: Mapping[str, int], placement: Split, errors: Floats) -> Floats:
    """ln(seconds) of a step of a layout with the case's figures off by each row of `errors`, shaped (points,
    parameters): shape (points,). `layout` gives every decision."""
    parts = varied_parts(at(case, errors), layout, placement)
    return np.asarray(np.log(np.broadcast_to(sum(parts.values()) / 1e9, (len(errors),))))


def observation(cluster: Cluster, same: Sequence[MeasuredRun]) -> Observation:
    """Runs of one layout as one: their median time, and its noise, theirs or that between them."""
    run, seconds = same[0], [each.steps.seconds for each in same]
    case = on_site(run, cluster).case
    steps = median(each.steps.spread / sqrt(each.steps.reports) for each in same)
    apart = float(np.std(np.log(seconds))) if len(same) > 1 else 0.0
    price = partial(log_seconds, case, run.layout, run.placement)
    return Observation(price, median(seconds), max(steps, apart))


def on_site(run: MeasuredRun, cluster: Cluster) -> MeasuredRun:
    """The run on the part of another cluster on which it ran."""
    ran = run.job.cluster
    part = cluster.model_copy(update={"nodes": ran.nodes, "gpus_per_node": ran.gpus_per_node})
    return replace(run, job=run.job.model_copy(update={"cluster": part}))


def predicted_seconds(run: MeasuredRun, cluster: Cluster) -> float:
    """Seconds of a step of the run's layout on a cluster, priced as `parc estimate` prices it."""
    case = on_site(run, cluster).case
    parts = time_by_part(Ranks(case, one_row(case, run.layout)), run.placement)
    return sum(parts.values()) / 1e9


def with_measured(site: FittedSite, groups: Sequence[Sequence[MeasuredRun]]) -> FittedSite:
    """The site with what the runs took over what it predicts, by layout (search/measured_layouts.py), but for
    those that are too far off to be told there."""
    ratios = [
        median(run.steps.seconds for run in same) / predicted_seconds(same[0], site.cluster)
        for same in groups
    ]
    texts = [
        entry(same[0].job, same[0].target, same[0].layout, ratio)
        for same, ratio in zip(groups, ratios, strict=True)
        if LEAST_RATIO <= float(f"{ratio:.4g}") <= MOST_RATIO
    ]
    return replace(site, cluster=site.cluster.model_copy(update={"measured": tuple(sorted(texts))}))


def uses(job: Job, site: FittedSite) -> bool:
    """Whether the job already has every value of the site."""
    return job.cluster.measured == site.cluster.measured and all(
        figure(job.cluster, name) == value
        for each in site.parameters
        for name, value in each.after.items()
    )
