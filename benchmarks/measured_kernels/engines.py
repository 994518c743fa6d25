"""Facts of an inference engine's kernels that training does not have: casts, tiles, shares of speed. All are
fitted to benchmarks/data/kernels_public.csv by benchmarks/fit_kernels.py or where a line says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

#: What attention kernels of inference reach by generation where it is not what a trainer's reach, in the
#: meaning of `attention_efficiency`. `torch_flow` is TensorRT-LLM's.
ATTENTION_KERNELS: Mapping[str, Mapping[str, float]] = {
    "vllm_flash_attn": {"sm80": 0.61},
    "vllm_flashinfer_trtllmprefill": {"sm100": 0.56},
    "torch_flow": {"sm80": 0.51, "sm90": 0.61, "sm100": 0.48},
}
#: Generations whose kernels run on another.
SAME_KERNELS = {"sm103": "sm100"}

#: vLLM's product in fp8.
CUTLASS = "CutlassFP8ScaledMMLinearKernel"
#: What a product's kernel reaches of the speed of the others on a generation.
PRODUCT_KERNELS: Mapping[str, Mapping[str, float]] = {CUTLASS: {"sm100": 1.2}}
#: Rows of which a kernel computes whole blocks: two cores share a tile of 128 rows each (CUTLASS, clusters of
#: 2 x 1); rows of 513 take as long as 768.
ROW_BLOCKS: Mapping[str, int] = {CUTLASS: 256}
#: Casting the input of an 8-bit product with the scale that the tensor at hand asks for, read for its largest
#: value, then read and written: bytes per element, and seconds of its kernels and theirs of the product.
SCALE_BYTES, SCALE_SECONDS = 6.4, 13.3e-6
#: The same in vLLM, whose rows each add an atomic maximum to one address: bytes, seconds, seconds per row.
ROW_SCALE_BYTES, ROW_SCALE_SECONDS, ROW_SECONDS = 8.4, 4.5e-6, 5.7e-9

#: Experts of inference are one kernel for each product, with activation and casts, of tokens that are there.
FUSED = {"fused_experts": True, "dispatch": "tokens"}
#: A call chooses experts, sorts the tokens and lays out offsets first: seconds.
ROUTING_SECONDS = 23.5e-6
#: Bytes per element of all tokens, other ranks' too: read, and the result cleared and written.
EVERY_TOKEN_BYTES = 6.4


@dataclass
class ExpertKernel:
    """Facts of one kernel of routed experts (mutable, as fit_kernels.py tries other values)."""

    #: Share of the FLOP rate and of the bandwidth that the others reach.
    rate: float = 1.0
    bandwidth: float = 1.0
    #: Bytes per element of a token copy that the rank computes: permuted before and after the products, in
    #: which some kernels gather and scatter.
    permuted_bytes: float = 10.4
    #: Seconds, and bytes per element, of every copy of every token, other ranks' too.
    routed_seconds: float = 0.0
    routed_bytes: float = 0.0


USUAL_EXPERTS = ExpertKernel()
#: TensorRT-LLM's for Blackwell, made for few tokens; Triton's, which fills and sums all copies; CUTLASS' in
#: fp8 on Hopper, as vLLM calls it.
LOW_LATENCY = ExpertKernel(rate=0.68, permuted_bytes=0.5, routed_seconds=0.64e-9)
TRITON = ExpertKernel(rate=0.82, permuted_bytes=0.0, routed_bytes=9.4)
HOPPER_FP8 = ExpertKernel(rate=0.23, bandwidth=0.31, permuted_bytes=3.4, routed_seconds=0.7e-9)
EXPERT_KERNELS: Mapping[str, Mapping[str, ExpertKernel]] = {
    "vllm_unquantizedfusedmoe_flashinfer_trtllm_trtllmbf16experts": {"sm100": LOW_LATENCY},
    "vllm_modeloptfp8moe_flashinfer_trtllm_trtllmfp8expertsmonolithic": {"sm100": LOW_LATENCY},
    "vllm_unquantizedfusedmoe_triton_tritonexperts": {"sm90": TRITON},
    "vllm_modeloptfp8moe_flashinfer_cutlass_flashinferexperts": {"sm90": HOPPER_FP8},
}
#: Hidden size and width of experts without a gate: Nemotron 3's, whose kernels TensorRT-LLM calls so.
UNGATED = ((2688, 1856), (1024, 2688), (2048, 5120), (8192, 5120))

T = TypeVar("T")


def of_kernel(table: Mapping[str, Mapping[str, T]], kernel: str, arch: str, usual: T) -> T:
    """A kernel's entry on a generation of GPUs, or the usual one."""
    return table.get(kernel, {}).get(SAME_KERNELS.get(arch, arch), usual)
