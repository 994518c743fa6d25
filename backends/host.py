"""Time and memory of the host: one Python and PyTorch under all frameworks, so equal for each."""

from __future__ import annotations

from ..compiler.algebra import Column
from ..compiler.traits import HostTraits
from ..dsl.arrays import np


def every_layout(pp: Column, ep: Column) -> Column:
    """`HostTraits.graphed` where no layout is left out."""
    return np.equal(pp, pp) & np.equal(ep, ep)


#: What changes where a step of any layout is one CUDA graph.
GRAPHED = {"graphed": every_layout}
HOST = HostTraits(
    # Layers of Megatron-core (2.5 ms forward and backward, 0.41 a half) and of torchtitan (2.0, 0.34) took
    # about that on a slow core, a shared 2.5 GHz Xeon, without launches (tests/acceptance/test_host_time.py);
    # the few measured runs that tell of it would have it 0.6 to 0.7 ms.
    host_seconds=0.38e-3,
    # Some 15 elementwise kernels, started 3.8 us apart (dsl/std/gpus.par, kernel_launch), are 0.06; measured
    # runs choose this (benchmarks/accuracy/fit.py).
    gap_seconds=0.09e-3,
    # Products and casts of each expert, and counts of tokens that the host waits for: public runs of Qwen3
    # 30B in fp8, one sequence at a time, take 9 ms a layer on B200 as on H100, exchanging within nodes as
    # between them (Megatron-Bridge, docs/performance-summary-archive.md, 25.11 to 26.06); 8 of them are
    # these, the other half's and the gaps. Of other frameworks nobody says.
    expert_host_seconds=2.1e-3,
    # Assumed: schedule, loss and logging.
    micro_batch_overhead=1e-3,
    # vTrain's steps end within 0.2 to 2 ms beside layers, head and optimizer.
    step_overhead=2e-3,
)
