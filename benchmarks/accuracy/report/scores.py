"""Predicted and measured runs -> error, rank correlation, regret, memory error and confusion over
out-of-memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.accuracy.rows.csv_rows import Row
from benchmarks.accuracy.rows.memory_figures import FIRST_STAGE, gauge_of
from benchmarks.accuracy.setups.prediction import Prediction, predict
from benchmarks.accuracy.setups.setup import Setup
from parc.compiler.pricing.estimate import one_row
from parc.compiler.search.simplicity import complexity
from parc.compiler.variables import ORDER
from parc.dsl.job import WITHIN

Report = dict[str, Any]
#: Layouts of one job that make a group worth ranking.
GROUP = 4


@dataclass(frozen=True)
class Scored:
    """One priced row; `measured` is None for rows without a time, `range` the lowest and highest price of a
    row that leaves fields open."""

    setup: Setup
    prediction: Prediction
    measured: float | None
    range: tuple[float, float] | None = None

    @property
    def row(self) -> Row:
        return self.setup.row

    @property
    def error(self) -> float:
        """Predicted over measured, minus 1."""
        return self.prediction.seconds / (self.measured or 1.0) - 1.0

    @property
    def kind(self) -> str:
        return "experts" if self.setup.case.model.moe else "dense"

    @property
    def outside(self) -> float:
        """How far the nearest price of the range is from the measured time: 0 inside it."""
        low, high = self.range or (self.prediction.seconds, self.prediction.seconds)
        measured = self.measured or 1.0
        return max(low / measured - 1.0, 1.0 - high / measured, 0.0)


def repriced(run: Scored, setup: Setup) -> Scored:
    """A run priced by another setup."""
    return replace(run, setup=setup, prediction=predict(setup))


def timed(runs: Iterable[Scored]) -> list[Scored]:
    return [run for run in runs if run.measured is not None]


def errors(runs: Sequence[Scored]) -> Report:
    """Number of rows, median and 90th percentile of |error|, signed median."""
    signed = np.array([run.error for run in timed(runs)])
    if not len(signed):
        return {"n": 0, "median_ape": None, "p90_ape": None, "bias": None}
    size = np.abs(signed)
    return {
        "n": len(signed),
        "median_ape": float(np.median(size)),
        "p90_ape": float(np.percentile(size, 90)),
        "bias": float(np.median(signed)),
    }


def ranges(runs: Sequence[Scored]) -> Report:
    """Rows that leave fields open: the share of measured times between their lowest and highest price, how
    far the others are from the nearer one, and the ranges' median width (highest over lowest, minus 1).
    """
    found = [run for run in timed(runs) if run.range]
    if not found:
        return {"n": 0, "inside": None, "median_ape": None, "p90_ape": None, "width": None}
    off = np.array([run.outside for run in found])
    spans = [run.range for run in found if run.range]
    return {
        "n": len(found),
        "inside": float(np.mean(off == 0)),
        "median_ape": float(np.median(off)),
        "p90_ape": float(np.percentile(off, 90)),
        "width": float(np.median([high / low - 1 for low, high in spans])),
    }


def completed(runs: Sequence[Scored]) -> Report:
    """Errors of rows that leave fields open, each priced at parc's own completion: the fastest layout with
    what the row states that fits."""
    return errors([run for run in runs if run.range])


def errors_by(runs: Sequence[Scored], key: Callable[[Scored], str]) -> dict[str, Report]:
    grouped = gather(runs, key)
    return {name: errors(grouped[name]) for name in sorted(grouped) if timed(grouped[name])}


def gather(runs: Iterable[Scored], key: Callable[[Scored], Any]) -> dict[Any, list[Scored]]:
    grouped: dict[Any, list[Scored]] = defaultdict(list)
    for run in runs:
        grouped[key(run)].append(run)
    return grouped


def median_of(reports: Iterable[Report]) -> Report:
    """Medians over sources, so that one large source does not hide the rest."""
    scored = [report for report in reports if report["n"]]
    return {
        name: float(np.median([report[name] for report in scored])) if scored else None
        for name in ("median_ape", "p90_ape")
    }


# --- layouts of one job ---


def job_of(run: Scored) -> tuple[Hashable, ...]:
    """Key that is equal for layouts of one job on one machine in one state."""
    row, case = run.row, run.setup.case
    model = (row.model, row.layers, row.hidden, row.heads)
    return (row.source, model, row.gpu, row.gpus, row.seq_len, case.train.global_batch, row.precision,
            row.attention, row.machine, row.framework_version)  # fmt: skip


def layout_of(run: Scored) -> tuple[Hashable, ...]:
    """A layout as its source states it."""
    row = run.row
    return (row.tp, row.sp, row.pp, row.vpp, row.cp, row.ep, row.dp, row.zero_stage, row.fsdp_shard_group,
            row.mbs, row.recompute, row.recompute_layers, row.offload, row.norm_kernel, row.tp_overlap,
            row.dp_overlap, row.fp8_recipe)  # fmt: skip


def job_text(run: Scored) -> str:
    row = run.row
    state = "".join(f", {each}" for each in (row.machine, row.framework_version) if each)
    batch = run.setup.case.train.global_batch
    dims = f"{row.layers}x{row.hidden}, {row.heads} heads"
    run_on = f"{row.gpus} {row.gpu}, seq {row.seq_len}, batch {batch}, {row.precision}{state}"
    return f"{row.model} ({dims}), {run_on}"


def sweeps(runs: Sequence[Scored]) -> list[list[list[Scored]]]:
    """Every job with at least GROUP layouts: the runs of each layout."""
    jobs = gather(timed(runs), job_of).values()
    layouts = [list(gather(members, layout_of).values()) for members in jobs]
    return [found for found in layouts if len(found) >= GROUP]


def seconds_of(layouts: Sequence[Sequence[Scored]]) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and measured seconds per layout, of repeated runs the median."""
    predicted = [np.median([run.prediction.seconds for run in same]) for same in layouts]
    measured = [np.median([run.measured or 0.0 for run in same]) for same in layouts]
    return np.array(predicted), np.array(measured)


def groups(runs: Sequence[Scored]) -> list[Report]:
    """Rank correlation and regret for every job with at least GROUP layouts; repeated layouts count
    once."""
    found = []
    for layouts in sweeps(runs):
        predicted, measured = seconds_of(layouts)
        efforts = np.array([effort_of(same[0]) for same in layouts])
        found.append(
            {
                "source": layouts[0][0].row.source,
                "job": job_text(layouts[0][0]),
                "n": len(layouts),
                "spearman": spearman(predicted, measured),
                "regret": regret(predicted, measured),
                "regret_simplest": simplest_regret(predicted, measured, efforts),
            }
        )
    return sorted(found, key=lambda group: (group["source"], group["job"]))


def repeats(runs: Sequence[Scored]) -> list[Report]:
    """Layouts that a source measured more than once: slowest over fastest, minus 1."""
    found = []
    for same in gather(timed(runs), lambda run: (job_of(run), layout_of(run))).values():
        times = [run.measured or 0.0 for run in same]
        if len(same) > 1:
            spread = max(times) / min(times) - 1
            found.append({"source": same[0].row.source, "n": len(same), "spread": spread})
    return found


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 0, ties sharing their mean."""
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values))
    _, code = np.unique(values, return_inverse=True)
    return (np.bincount(code, weights=rank) / np.bincount(code))[code]


def spearman(predicted: np.ndarray, measured: np.ndarray) -> float:
    """Rank correlation; 0 when one side sees no difference."""
    left, right = ranks(predicted), ranks(measured)
    if left.std() == 0 or right.std() == 0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def regret(predicted: np.ndarray, measured: np.ndarray, best: float | None = None) -> float:
    """How much slower than the best the layout of the lowest prediction ran; among equals their mean."""
    picked = measured[predicted == predicted.min()].mean()
    return float(picked / (measured.min() if best is None else best) - 1)


def effort_of(run: Scored) -> int:
    """How complicated the layout of a run is, as parc's choice counts it."""
    columns = one_row(run.setup.case, {name: run.prediction.layout[name] for name in ORDER})
    return int(complexity(columns)[0])


def simplest_regret(predicted: np.ndarray, measured: np.ndarray, efforts: np.ndarray) -> float:
    """Regret of the layout that parc chooses: the simplest of those predicted within WITHIN of the best."""
    near = predicted <= predicted.min() * (1 + WITHIN)
    simplest = near & (efforts == efforts[near].min())
    return regret(predicted[simplest], measured[simplest], measured.min())


def summary(found: Sequence[Report]) -> Report:
    if not found:
        empty = ("spearman", "regret_mean", "regret_max", "regret_simplest")
        return {"groups": 0, **dict.fromkeys(empty)}
    return {
        "groups": len(found),
        "spearman": mean(group["spearman"] for group in found),
        "regret_mean": mean(group["regret"] for group in found),
        "regret_max": max(group["regret"] for group in found),
        "regret_simplest": mean(group["regret_simplest"] for group in found),
    }


# --- memory ---


def memory_error(run: Scored) -> float | None:
    """Predicted over stated bytes, minus 1; None where the source states none, or not what it counts."""
    counts, unit = gauge_of(run.row)
    if not run.row.mem_gb or counts == "unknown" or run.row.oom:
        return None
    predicted = run.prediction
    counted = {
        "device": min(predicted.cached, predicted.capacity),
        FIRST_STAGE: min(predicted.cached, predicted.capacity),
        "reserved": predicted.cached - predicted.reserve,
        "planned": predicted.bytes - predicted.fragments,
        "allocated": predicted.bytes - predicted.reserve - predicted.fragments,
    }
    return counted[counts] / (run.row.mem_gb * unit) - 1


def memory(runs: Sequence[Scored]) -> Report:
    """Errors, and the spread of ln(measured / predicted): its root mean square, of all the median over
    sources."""

    def of(members: Sequence[Scored]) -> Report:
        signed = np.array([error for run in members if (error := memory_error(run)) is not None])
        return {
            "n": len(signed),
            "median_ape": float(np.median(np.abs(signed))),
            "p90_ape": float(np.percentile(np.abs(signed), 90)),
            "bias": float(np.median(signed)),
            "spread": float(np.sqrt(np.mean(np.log1p(signed) ** 2))),
        }

    stated = [run for run in runs if memory_error(run) is not None]
    if not stated:
        empty = dict.fromkeys(("median_ape", "p90_ape", "bias", "spread"))
        return {"n": 0, **empty, "by_source": {}}
    by_source = gather(stated, lambda run: run.row.source)
    found = {name: of(by_source[name]) for name in sorted(by_source)}
    spread = float(np.median([each["spread"] for each in found.values()]))
    return {**of(stated), "spread": spread, "by_source": found}


def out_of_memory(runs: Sequence[Scored]) -> Report:
    """Rows that ran out of memory and those of them that we call infeasible; rows that ran, and
    those refused."""
    dead = [run for run in runs if run.row.oom]
    alive = [run for run in runs if not run.row.oom]
    return {
        "oom_rows": len(dead),
        "called_oom": sum(not run.prediction.fits for run in dead),
        "ran_rows": len(alive),
        "refused": sum(not run.prediction.fits for run in alive),
    }
