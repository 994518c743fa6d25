"""What the host takes beside the GPU: one Python and PyTorch under all frameworks, so the same for each."""

from __future__ import annotations

#: To launch a forward half-layer: what vTrain's single-node rows ask for (benchmarks/fit.py); no other source
#: tells of it.
HOST_SECONDS = 0.38e-3
#: What a half-layer takes on the GPU beside its arithmetic and traffic, some 12 kernels of 10 us: chosen by
#: the order of layouts in the same rows (docs/cost-model.md).
GAP_SECONDS = 0.12e-3
#: Products and casts of each expert, and counts of tokens that the host waits for: public runs of Qwen3 30B
#: in fp8, one sequence at a time, take 9 ms a layer on B200 as on H100, exchanging within nodes as between
#: them (Megatron-Bridge, docs/performance-summary-archive.md, 25.11 to 26.06). Of other frameworks nobody
#: says.
EXPERT_HOST_SECONDS = 1.9e-3
