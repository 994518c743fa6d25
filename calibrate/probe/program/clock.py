"""A case -> its row: seconds of each rank, with their spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from .cases import Case
from .kernels import Kernels, Run
from .ranks import Ranks

#: Batches of a case that are timed, and seconds of one on a GPU and on a CPU.
SAMPLES, BATCH_SECONDS = 5, {"cuda": 0.08, "cpu": 0.02}
#: Batches before these of what heats a GPU. At first its clocks are higher than power lets them be in
#: training: products for fractions of a second reach 0.83 of an H100's peak (what levels.py makes of
#: benchmarks/data/kernels_public.csv), and 0.73 in the long run (SemiAnalysis, MI300X vs H100 vs H200
#: Benchmark Part 1: Training, 2024).
HEATING, HEATED = 12, ("product", "attention", "training")


def timed(case: Case, kernels: Kernels) -> Case:
    """The case with `seconds` of each rank, None for those without a part, and the `spread` of their batches;
    or with `failed`. All ranks call it together."""
    ranks = kernels.ranks
    begun, failure = 0.0, ""
    run: Run | None = None
    try:
        run = kernels.run_of(case)
        for _ in range(2):
            begun = time.perf_counter()
            if run:
                run()
            ranks.wait()
    except Exception as error:  # libraries assert, and compile kernels, each in its own way
        if "CUDA error" in str(error) or "NCCL error" in str(error):
            raise
        failure = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
    told = ranks.agree((time.perf_counter() - begun if run else 0.0, failure))
    if failures := [f"rank {rank}: {why}" for rank, (_, why) in enumerate(told) if why]:
        return {**case, "failed": failures[0]}
    longest = max(seconds for seconds, _ in told)
    count = max(1, min(10_000, int(BATCH_SECONDS[ranks.device] / max(longest, 1e-7))))
    heating = HEATING if ranks.device == "cuda" and case["kind"] in HEATED else 0
    batches = [_batch(run, ranks, count) for _ in range(heating + SAMPLES)] if run else []
    batches = batches[heating:]
    found = ranks.agree((statistics.median(batches), _spread(batches)) if batches else (None, None))
    spreads = [spread for _, spread in found if spread is not None]
    return {
        **case,
        "seconds": [seconds for seconds, _ in found],
        "spread": statistics.median(spreads),
    }


def _batch(run: Run, ranks: Ranks, count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        run()
    ranks.wait()
    return (time.perf_counter() - begun) / count


def _spread(batches: Sequence[float]) -> float:
    """Half of what the middle batches differ by, as a share of the median."""
    ordered = sorted(batches)
    return (ordered[-2] - ordered[1]) / 2 / max(statistics.median(ordered), 1e-12)
