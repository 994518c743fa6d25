"""Kernels of fused attention: how fast each is on a generation of GPUs, against the fastest that it has."""

from collections.abc import Mapping

#: Pace of a kernel over that of the GPU's fastest, for which `attention_efficiency` stands, by what the
#: GPU's kernels are built for. What is not listed does not run there.
PACE: Mapping[str, Mapping[str, float]] = {
    # Dao 2023, arXiv 2307.08691: 25-40 % of peak on A100, where FlashAttention-2 has 0.72. It needs Turing.
    "fa1": {"sm80": 0.56, "sm86": 0.56, "sm89": 0.56, "sm90": 0.32},
    # A kernel of FlashAttention-1's kind. On Hopper 0.22 of peak, where FlashAttention-3 has 0.68:
    # llm-foundry's own runs of 1,024 to 65,536 tokens, which differ in little but attention.
    "triton": {"sm80": 0.56, "sm86": 0.56, "sm89": 0.56, "sm90": 0.32},
    # Shah et al. 2024, arXiv 2407.08608: at most 35 % of peak on H100. torchtitan's runs there tell 0.28. Its
    # products are Ampere's instructions: heads of 64 at 16,384 tokens, forward and backward, run at 346
    # TFLOP/s on B200 (github.com/Dao-AILab/flash-attention/issues/1589) and at 302 on H100 (pull/2688), so
    # those of 128 at 1.15 of H100's 300. sm120 has neither Hopper's nor Blackwell's products of matrices, and
    # runs the kernels of Ampere.
    "fa2": {"sm80": 1.0, "sm86": 1.0, "sm89": 1.0, "sm90": 0.41, "sm100": 0.18, "sm103": 0.18,
            "sm120": 1.0, "gfx942": 1.0, "gfx950": 1.0},
    # PyTorch chooses FlashAttention-2, or its memory-efficient kernel on Volta. On AMD's GPUs it calls
    # AOTriton's kernels, which AMD's own (AITER) outrun by 18 to 62 % forward on MI300X
    # (midiareshadi.github.io/blog/attn-dsl-bench, 2026) and by a quarter backward on MI355X (arXiv
    # 2511.08083: 30 and 24 % of the fastest).
    "sdpa": {"sm70": 1.0, "sm80": 1.0, "sm86": 1.0, "sm89": 1.0, "sm90": 0.41, "sm100": 0.41, "sm103": 0.41,
             "sm120": 1.0, "gfx942": 0.71, "gfx950": 0.71},
    "fa3": {"sm90": 1.0},
    # Kernels for Hopper and Blackwell; on GB200 their backward pass is as fast as cuDNN's (PyTorch's blog
    # "FlexAttention + FlashAttention-4", 2026).
    "fa4": {"sm90": 1.0, "sm100": 1.0, "sm103": 1.0},
    # cuDNN, which Transformer Engine calls too: on H100 609 TFLOP/s forward for FlashAttention-3's 638 (Shah
    # et al. 2024, fig. 5, 4,096 tokens, heads of 128).
    "cudnn": {"sm80": 1.0, "sm86": 1.0, "sm89": 1.0, "sm90": 1.0, "sm100": 1.0, "sm103": 1.0,
              "sm120": 1.0},
    # FlexAttention's Triton kernels: 0.90 of FlashAttention-2 forward and 0.85 backward on A100 (PyTorch's
    # blog "FlexAttention", 2024), and of AOTriton's on AMD's; Triton's on H100 are as fast as
    # FlashAttention-2 forward (389 and 368 TFLOP/s, Shah et al. 2024, fig. 5); on GB200 those of
    # FlashAttention-4 are 1.85 to 2.3 times as fast backward, 1.6 to 3.2 forward.
    "flex": {"sm80": 0.87, "sm86": 0.87, "sm89": 0.87, "sm90": 0.41, "sm100": 0.47, "sm103": 0.47,
             "sm120": 0.87, "gfx942": 0.62, "gfx950": 0.62},
    "te": {"sm80": 1.0, "sm86": 1.0, "sm89": 1.0, "sm90": 1.0, "sm100": 1.0, "sm103": 1.0, "sm120": 1.0,
           "gfx942": 1.0, "gfx950": 1.0},
}  # fmt: skip
#: fp8 products scaled by row over those scaled by tensor: torchtitan's two runs of a 70B model on H100, which
#: are no faster by row than in bf16.
ROWWISE = 0.5


def runs_on(kernel: str, arch: str) -> bool:
    """Whether a kernel of PACE runs on GPUs of `arch`."""
    return arch in PACE[kernel]


def pace(kernel: str | None, arch: str) -> float:
    """Share of the fastest kernel's speed that `kernel` reaches on `arch`; 1 for None, the fastest there.
    Raises KeyError for one that does not run there."""
    return 1.0 if kernel is None else PACE[kernel][arch]
