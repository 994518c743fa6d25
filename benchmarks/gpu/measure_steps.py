"""Trains Llamas on the GPU of this machine: python benchmarks/gpu/measure_steps.py FILE.csv

Whole training steps become lines in the form of measured_public.csv, which benchmarks/accuracy/accuracy.py
scores. Needs PyTorch with CUDA, and DeepSpeed for the emitted train.py. Not yet run on a GPU: its parts are
tested without one. What single kernels take, `parc measure` tells.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy.rows import gpu_names
from benchmarks.accuracy.rows.csv_rows import Row
from benchmarks.gpu.steps import STEPS, Outcome, Step, row, run_step

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
) -> list[str]:
    """Runs every step and writes its line as soon as it is known; returns what failed and why."""
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    failures = []
    for number, step in enumerate(steps, 1):
        result = run(step, gpu_names.GPUS[gpu])
        if result.failure:
            failures.append(f"{step.program} {step.size.name} {step.recompute}: {result.failure}")
            continue
        writer.writerow(row(number, step, result, gpu, f"{about}, {today.isoformat()}", today.year))
        file.flush()
    return failures


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path, help="the CSV to write")
    return parser.parse_args(given)


def cuda() -> tuple[str, str] | str:
    """Name and versions of the GPU of this machine, or why there is none."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    if not torch.cuda.is_available():
        return "PyTorch finds none"
    versions = f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}"
    return torch.cuda.get_device_name(0), versions


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    found = cuda()
    if isinstance(found, str):
        print(f"measure_steps: no CUDA GPU: {found}", file=sys.stderr)
        return 2
    device, versions = found
    gpu = gpu_names.gpu_named(device)
    if gpu is None:
        print(f"measure_steps: the standard library has no `{device}`", file=sys.stderr)
        return 2
    about = f"{device}, {versions}"
    with asked.rows.open("w", encoding="utf-8", newline="") as file:
        failures = write_rows(file, gpu, about, date.today(), STEPS, run_step)
    for failure in failures:
        print(f"measure_steps: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
