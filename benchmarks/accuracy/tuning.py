"""How right the verdicts on fine-tuning runs are: does it fit, how much memory at the peak, how fast.

    python benchmarks/accuracy/tuning.py [--data CSV] [--json FILE] [--rows]

Each row is priced from its columns alone. A row counts among `fits` or `oom`, by what was measured, where its
card is known; it is right where the predicted side of one half is that outcome. `inexpressible` lists rows
that state no run, or none that the language has, with the reason.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.rows.csv_rows import Unreadable, Unusable
from benchmarks.accuracy.rows.tuning_rows import (
    TuningRow,
    read_tuning,
    tuning_row,
)
from benchmarks.accuracy.setups.tuned_run import Stated, stated
from parc.compiler.tuning.fit import DOUBT, Doubt, likely_to_fit
from parc.compiler.tuning.memory import Peak, peak
from parc.compiler.tuning.step_time import micro_batch_seconds

DATA = Path(__file__).parents[1] / "data" / "tuning_public.csv"
UNITS = {"gib": 2**30, "gb": 10**9}
OUTCOMES = ("fits", "oom")
#: What a trainer prints where a report does not say what its figure counts (prime-rl, trainer/rl/train.py:
#: max_memory_reserved).
COUNTS = {"prime-rl": "reserved"}
#: Chances and least memory of the runs that a row may state.
Needed = list[tuple[float, float]]


@dataclass(frozen=True)
class Priced:
    """A row beside its prediction; None is what the row or the model of its run leaves open."""

    row: TuningRow
    run: Stated
    predicted: Peak
    needed: Needed
    fits: float | None
    memory_ratio: float | None
    time_ratio: float | None


def priced(row: TuningRow) -> Priced:
    """The prediction for a row. Raises Unusable."""
    if row.outcome not in OUTCOMES:
        raise Unusable(f"outcome is `{row.outcome[:40]}`")
    setup = stated(row)
    peaks = [(chance, peak(run)) for chance, run in setup.runs]
    predicted = middle(peaks)
    needed = [(chance, each.needed) for chance, each in peaks]
    fits = forecast(needed, setup)
    ratio = memory_ratio(row, predicted)
    seconds = time_ratio(row, setup)
    if fits is None and ratio is None and seconds is None:
        raise Unusable("no card named, and no peak to compare")
    return Priced(row, setup, predicted, needed, fits, ratio, seconds)


def forecast(needed: Needed, setup: Stated, doubt: Doubt = DOUBT) -> float | None:
    """The probability that a run fits; None where its card is not known."""
    if setup.memory is None:
        return None
    return likely_to_fit(needed, setup.memory, doubt)


def middle(peaks: Sequence[tuple[float, Peak]]) -> Peak:
    """The peak that as much of the chance lies below as above."""
    ordered = sorted(peaks, key=lambda pair: pair[1].device)
    below = itertools.accumulate(chance for chance, _ in ordered)
    return next(
        (each for (_, each), share in zip(ordered, below, strict=True) if share >= 0.5),
        ordered[-1][1],
    )


def memory_ratio(row: TuningRow, predicted: Peak) -> float | None:
    """Predicted over measured bytes at the peak."""
    if not row.peak_mem_gb or row.outcome != "fits":
        return None
    unit = UNITS.get(row.mem_unit.lower(), 10**9)
    counted = {"allocated": predicted.allocated, "reserved": predicted.reserved}
    counts = row.mem_counts if row.mem_counts in counted else COUNTS.get(row.framework, "device")
    return counted.get(counts, predicted.device) / (row.peak_mem_gb * unit)


def time_ratio(row: TuningRow, setup: Stated) -> float | None:
    """Predicted over measured seconds of a micro-batch: from tokens/s of a GPU, else from the step."""
    run = setup.run
    if setup.cluster is None or row.seq_len is None or row.micro_batch is None:
        return None
    seconds = micro_batch_seconds(run, setup.cluster)
    layout = run.layout
    if row.tokens_per_s_per_gpu:
        own = run.tokens / layout.tp / layout.pp / layout.layers_over
        measured = own / row.tokens_per_s_per_gpu
    elif row.step_time_s and row.grad_accum:
        measured = row.step_time_s / row.grad_accum
    else:
        return None
    return seconds / measured if seconds else None


def scored(rows: Sequence[Priced], inexpressible: list[dict[str, str]]) -> dict[str, Any]:
    """The scores of a table, by the names of the report."""
    judged = [each for each in rows if each.fits is not None]
    losses = []
    sides: dict[str, Any] = {}
    for outcome in OUTCOMES:
        chances = [
            each.fits if outcome == "fits" else 1 - each.fits
            for each in judged
            if each.fits is not None and each.row.outcome == outcome
        ]
        sides[outcome] = {"right": sum(chance > 0.5 for chance in chances), "total": len(chances)}
        losses += [-math.log(chance) for chance in chances]
    return {
        **sides,
        "log_loss": round(sum(losses) / len(losses), 4) if losses else None,
        "memory": _errors([each.memory_ratio for each in rows]),
        "time": _errors([each.time_ratio for each in rows]),
        "inexpressible": inexpressible,
    }


def _errors(ratios: Sequence[float | None]) -> dict[str, Any]:
    errors = sorted(abs(ratio - 1) for ratio in ratios if ratio is not None)
    if not errors:
        return {"n": 0, "median_ape": None, "p90_ape": None}
    p90 = errors[min(len(errors) - 1, math.ceil(0.9 * len(errors)) - 1)]
    return {"n": len(errors), "median_ape": round(median(errors), 4), "p90_ape": round(p90, 4)}


def judged(path: Path) -> tuple[list[Priced], list[dict[str, str]]]:
    """The priced rows of a file, and those that cannot be priced. Raises Unreadable."""
    rows, left_out = [], []
    for line in read_tuning(path):
        try:
            rows.append(priced(tuning_row(line)))
        except Unusable as reason:
            left_out.append({"id": line["id"], "reason": str(reason)})
    return rows, left_out


def _listed(each: Priced) -> str:
    ratio = [f"{value:.2f}" if value else "" for value in (each.memory_ratio, each.time_ratio)]
    chance = "" if each.fits is None else f"{each.fits:.2f}"
    peak_gb = f"{each.predicted.device / 1e9:.1f}"
    shown = (each.row.id, each.row.outcome, chance, peak_gb, *ratio, each.row.model[:34])
    return "  ".join(str(item).ljust(8) for item in shown)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, metavar="CSV")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scores there")
    parser.add_argument("--rows", action="store_true", help="list every row")
    options = parser.parse_args(arguments)
    try:
        rows, left_out = judged(options.data)
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    if options.rows:
        print("\n".join(_listed(each) for each in rows))
    text = json.dumps(scored(rows, left_out), indent=2)
    if options.json:
        options.json.write_text(text + "\n", "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
