"""Kernels of PyTorch 2.13: bytes that they move and the one that attention takes, for frameworks that leave
it to PyTorch."""

from collections.abc import Mapping
from typing import Any

from ..dsl.job import Job

#: Bytes per element that a norm moves in eager PyTorch, in fp32 between its kernels: widened (6), squared
#: (8), averaged (4), scaled (8) and narrowed with its weight (6), of which some stay in cache. Pairs of runs
#: of the A100 sweep that differ in their norm alone say 30.
EAGER_NORM_BYTES = 30.0
#: Bytes per element that it keeps for its backward pass beyond input and output: its input is kept in fp32
#: and not in 16 bits, and its result before the weight is kept too (torch.autograd.graph.saved_tensors_hooks
#: around transformers' LlamaRMSNorm and a linear layer: 8 with the output).
EAGER_NORM_KEPT = 4.0
#: Bytes of CUDA's context and of kernels that a process without other GPUs loads. Seven emitted jobs on one
#: H100 (PyTorch 2.11, CUDA 13.0) show 0.92 GiB more on the device than PyTorch reserves
#: (benchmarks/data/own_h100_trained.csv).
LONE_CONTEXT = 942 * 2**20
#: The loss under torch.compile, bytes per logit. AOTAutograd saves the 16-bit logits and two numbers a row
#: of F.cross_entropy in fp32; the forward kernel reads the logits once (online_softmax), the backward kernel
#: reads them and writes their 16-bit gradient. A vocabulary that tp divides is left as it is without.
COMPILED_LOSS: Mapping[str, Any] = {
    "loss_bytes": 6.0,
    "logit_bytes": 4.0,
    "freed_logit_bytes": 0.0,
}
#: GPUs on which scaled_dot_product_attention asks cuDNN (9.15 or later) first
#: (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, check_prefer_cudnn_attention).
CUDNN_FIRST = ("sm90", "sm100")


def chosen_attention(job: Job) -> str:
    """The kernel of `time/attention_kernels.py` that scaled_dot_product_attention takes unless told."""
    return "cudnn" if job.cluster.gpu.arch in CUDNN_FIRST else "sdpa"
