"""What is a fact of an inference engine's kernel and not of training: casts, tiles, shares of speed. All are
fitted to benchmarks/data/kernels_public.csv by benchmarks/fit_kernels.py or where a line says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

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
#: A call chooses experts, sorts the tokens and lays out offsets first: 20 to 80 us by kernel.
ROUTING_SECONDS = 40e-6
#: Bytes per element of all tokens, other ranks' too: read, and the result cleared and written.
EVERY_TOKEN_BYTES = 6.0
#: What experts' kernels reach of the speed of the others on a generation.
EXPERT_KERNELS: Mapping[str, Mapping[str, float]] = {
    "vllm_modeloptfp8moe_flashinfer_cutlass_flashinferexperts": {"sm90": 0.4},
}


def reached(
    kernels: Mapping[str, Mapping[str, float]], kernel: str, arch: str, usual: float = 1.0
) -> float:
    """A kernel's figure on a generation of GPUs, or the usual one."""
    return kernels.get(kernel, {}).get(SAME_KERNELS.get(arch, arch), usual)
