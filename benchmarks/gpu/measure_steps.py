"""Trains Llamas on the GPU of this machine: python benchmarks/gpu/measure_steps.py FILE.csv

Whole training steps become lines in the form of measured_public.csv, which benchmarks/accuracy/accuracy.py
scores. Needs PyTorch with CUDA, and DeepSpeed for the emitted train.py. `--steps micro-batches` runs sweeps
over micro-batches in place of the grid, the most valuable lines first: `--seconds` may end them anywhere.
What single kernels take, `parc measure` tells.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy.rows import gpu_names
from benchmarks.accuracy.rows.csv_rows import Row
from benchmarks.gpu import card
from benchmarks.gpu.steps import SECONDS_EACH, SETS, Outcome, Step, row, run_step, start

#: The columns of measured_public.csv: a `Row`, and the year after where it stands.
COLUMNS = [
    name
    for field in Row.__dataclass_fields__
    for name in ([field, "year"] if field == "where" else [field])
]


def write_rows(
    file: TextIO,
    gpu: str,
    about: str,
    today: date,
    steps: Sequence[Step],
    run: Callable[[Step, str], Outcome],
    over: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Runs steps until `over` and writes the line of each as soon as it is known.

    Returns what failed and why, and how many steps were left out.
    """
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    failures = []
    for number, step in enumerate(steps, 1):
        if over():
            left = len(steps) - number + 1
            failures.append(f"{left} of {len(steps)} steps left out: the time is over")
            break
        result = run(step, gpu_names.GPUS[gpu])
        print(f"{named(step)}: {told(result)}", flush=True)
        if result.failure:
            failures.append(f"{named(step)}: {result.failure}")
            continue
        writer.writerow(row(number, step, result, gpu, f"{about}, {today.isoformat()}", today.year))
        file.flush()
    return failures


def named(step: Step) -> str:
    """A step in one line."""
    batch = f"{step.micro_batch} x {step.microbatches}"
    return f"{step.program} {step.size.name} {step.seq_len} tokens, {batch}, {step.recompute}"


def told(result: Outcome) -> str:
    """Outcome of a step, in a few words."""
    if result.failure or result.seconds is None:
        return result.failure or "out of memory"
    return f"{result.seconds:.4f} s, {(result.peak_bytes or 0) / 2**30:.1f} GiB"


def run_alone(idle: int, limit: float, step: Step, gpu: str) -> Outcome:
    """One step on a GPU on which nothing else is left, ended after `limit` seconds."""
    if not card.wait_until_empty(idle):
        return Outcome(failure="the GPU is in use")
    return run_step(step, gpu, partial(start, limit=limit))


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path, help="the CSV to write")
    parser.add_argument("--steps", choices=SETS, default="grid", help="which steps to run")
    parser.add_argument("--seconds", type=float, help="after which no further step begins")
    parser.add_argument(
        "--each", type=float, default=SECONDS_EACH, help="seconds after which a step is ended"
    )
    return parser.parse_args(given)


def over_after(seconds: float | None) -> Callable[[], bool]:
    """Whether so many seconds have passed since this call; never without any."""
    end = None if seconds is None else time.monotonic() + seconds
    return lambda: end is not None and time.monotonic() >= end


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    over = over_after(asked.seconds)
    idle = card.used_mib()
    found = card.in_library("measure_steps")
    if found is None:
        return 2
    gpu, about = found
    run = partial(run_alone, idle, asked.each)
    with asked.rows.open("w", encoding="utf-8", newline="") as file:
        failures = write_rows(file, gpu, about, date.today(), SETS[asked.steps], run, over)
    for failure in failures:
        print(f"measure_steps: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
