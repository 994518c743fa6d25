"""Measures the GPU of this machine: python benchmarks/gpu/measure_gpu.py [--rows FILE.csv] [--block FILE.par]

Kernels (matrix products, fused attention, copies, launches) become a `gpu` block, whole training steps
become lines in the form of measured_public.csv, which benchmarks/accuracy/accuracy.py scores. Needs PyTorch
with CUDA; for the emitted train.py also DeepSpeed. Not yet run on a GPU: its parts are tested without one.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy.rows import gpu_names
from benchmarks.accuracy.rows.csv_rows import Row
from benchmarks.gpu.shapes import Clock, Timed, fitted, gpu_block, measure
from benchmarks.gpu.steps import STEPS, Outcome, Step, row, run_step
from parc.dsl import std_gpu

#: The columns of measured_public.csv: a `Row`, and the year after where it stands.
COLUMNS = [
    name
    for field in Row.__dataclass_fields__
    for name in ([field, "year"] if field == "where" else [field])
]


def report(timed: Iterable[Timed]) -> str:
    lines = [f"{'kernel':10} {'shape':>24} {'seconds':>12} {'rate':>12}"]
    lines += [f"{t.what:10} {t.shape:>24} {t.seconds:12.4g} {t.rate:12.4g}" for t in timed]
    return "\n".join(lines)


def block(timed: Sequence[Timed], gpu: str, about: str) -> str:
    """The `gpu` block that the timings fit. Raises ValueError when they cannot be of this GPU."""
    base = gpu_names.GPUS[gpu]
    published = std_gpu(base)
    peak = published.bf16 or published.fp16 or 0.0
    measured = fitted(timed, peak, published.memory_bandwidth)
    return gpu_block(f"{base}_measured", base, measured, f"Measured with {about}")


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
    parser.add_argument(
        "--rows", type=Path, help="write training steps here; without it none are run"
    )
    parser.add_argument("--block", type=Path, help="write the gpu block here, else print it")
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


def clock() -> Clock:
    from benchmarks.gpu.torch_program import TorchClock

    return TorchClock()


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    found = cuda()
    if isinstance(found, str):
        print(f"measure_gpu: no CUDA GPU: {found}", file=sys.stderr)
        return 2
    device, versions = found
    gpu = gpu_names.gpu_named(device)
    if gpu is None:
        print(f"measure_gpu: the standard library has no `{device}`", file=sys.stderr)
        return 2
    about = f"{device}, {versions}"
    timed = measure(clock())
    print(report(timed))
    try:
        text = block(timed, gpu, f"{about}, {date.today().isoformat()}")
    except ValueError as error:
        print(f"measure_gpu: {error}", file=sys.stderr)
        return 1
    if asked.block:
        asked.block.write_text(text)
    print(text)
    return _steps(asked.rows, gpu, about) if asked.rows else 0


def _steps(path: Path, gpu: str, about: str) -> int:
    with path.open("w", encoding="utf-8", newline="") as file:
        failures = write_rows(file, gpu, about, date.today(), STEPS, run_step)
    for failure in failures:
        print(f"measure_gpu: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
