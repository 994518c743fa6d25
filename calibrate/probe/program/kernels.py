"""A case -> a function that runs it once, on data of its own, with PyTorch or a library that is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cases import Case
from .ranks import Ranks
from .training import training_step

Run = Callable[[], Any]
#: PyTorch's name of a precision of 16 bits.
HALF = {"bf16": "bfloat16", "fp16": "float16"}


class Kernels:
    """A case -> a function that runs it once, on data of its own."""

    def __init__(self, ranks: Ranks, half: str):
        self.torch, self.ranks = ranks.torch, ranks
        self.device = f"cuda:{ranks.local}" if ranks.device == "cuda" else "cpu"
        self.half = getattr(ranks.torch, HALF[half])

    def run_of(self, case: Case) -> Run | None:
        """None where this rank has no part in the case."""
        found: Run | None = getattr(self, case["kind"])(case)
        return found

    def product(self, case: Case) -> Run:
        rows, columns, inner = case["rows"], case["columns"], case["inner"]
        if case["dtype"] != "fp8":
            # As a linear layer's forward pass reads its weights: a CPU without products of 16 bits takes ten
            # times as long for them the other way round, and would run its training above its own peak.
            left, weights = self._random(rows, inner), self._random(columns, inner)
            return lambda: left @ weights.t()
        # Sums in fp32, as both products of the backward pass (torchao 0.16, float8/config.py); forward ones
        # may sum in fewer bits, which on Hopper is faster.
        fp8 = self.torch.float8_e4m3fn
        small, large = (self._random(n, inner).to(fp8) for n in (rows, columns))
        scale = self.torch.ones((), device=self.device)
        return lambda: self.torch._scaled_mm(
            small, large.t(), scale_a=scale, scale_b=scale, out_dtype=self.half
        )

    def attention(self, case: Case) -> Run:
        library, _, _ = case["kernel"].partition(":")
        size = (case["batch"], case["heads"], case["seq_len"], case["head_dim"])
        if library != "torch":
            size = (size[0], size[2], size[1], size[3])
        operands = [self._random(*size).requires_grad_() for _ in range(3)]
        forward = self._attention_kernel(case["kernel"], case["heads"], case["head_dim"])
        if case["direction"] == "forward":
            return lambda: forward(*operands)
        out = forward(*operands)
        back, gradients = self.torch.randn_like(out), self.torch.autograd.grad
        if case["direction"] == "both":
            return lambda: gradients(forward(*operands), operands, back)
        return lambda: gradients(out, operands, back, retain_graph=True)

    def _attention_kernel(self, kernel: str, heads: int, head_dim: int) -> Callable[..., Any]:
        if kernel == "flash_attn:fa2":
            from flash_attn import flash_attn_func

            return lambda *operands: flash_attn_func(*operands, causal=True)
        if kernel == "flash_attn:fa3":
            from flash_attn_interface import flash_attn_func as newer

            return lambda *operands: _first(newer(*operands, causal=True))
        if kernel == "transformer_engine:te":
            from transformer_engine.pytorch import DotProductAttention

            module = DotProductAttention(
                heads,
                head_dim,
                attention_dropout=0.0,
                qkv_format="bshd",
                attn_mask_type="causal",
            )
            return lambda *operands: module(*operands)
        return self._torch_attention(kernel)

    def _torch_attention(self, kernel: str) -> Callable[..., Any]:
        attend = self.torch.nn.functional.scaled_dot_product_attention
        if kernel == "torch:sdpa":
            return lambda *operands: attend(*operands, is_causal=True)
        from torch.nn.attention import SDPBackend, sdpa_kernel

        names = {"torch:fa2": "FLASH_ATTENTION", "torch:cudnn": "CUDNN_ATTENTION"}
        backend = getattr(SDPBackend, names[kernel])  # PyTorch 2.3 has none of cuDNN

        def run(*operands: Any) -> Any:
            with sdpa_kernel(backend):
                return attend(*operands, is_causal=True)

        return run

    def launch(self, case: Case) -> Run:
        small = self.torch.zeros(1, device=self.device)
        return lambda: small.add_(1.0)

    def stream(self, case: Case) -> Run:
        """A copy, or a sum of two: `operands` tensors that together have `bytes`."""
        elements = case["bytes"] // (2 * case["operands"])
        made = [self._empty(elements) for _ in range(case["operands"])]
        if case["operands"] == 2:
            return lambda: made[0].copy_(made[1])
        return lambda: self.torch.add(made[1], made[2], out=made[0])

    def training(self, case: Case) -> Run:
        return training_step(self.torch, self.device, self.half, case)

    def copy(self, case: Case) -> Run:
        host = self.torch.empty(case["bytes"] // 2, dtype=self.half, pin_memory=True)
        near = self._empty(case["bytes"] // 2)
        source, target = (host, near) if case["to"] == "gpu" else (near, host)
        return lambda: target.copy_(source, non_blocking=True)

    def collective(self, case: Case) -> Run | None:
        own = self.ranks.group(case["size"], case["stride"])
        return own and self._collective(case, *own)

    def _collective(self, case: Case, group: Any, members: list[int]) -> Run:
        """`bytes` as the compiler counts them: all that is gathered, reduced or sent by a rank."""
        distributed, size = self.torch.distributed, case["size"]
        whole = self._empty(case["bytes"] // 2 // size * size)
        part, other = self._empty(whole.numel() // size), self.torch.empty_like(whole)
        if case["op"] == "send":
            place = members.index(self.ranks.rank)
            move, peer = (distributed.recv, members[0]) if place else (distributed.send, members[1])
            return lambda: move(whole, peer, group=group)
        return {
            "all_gather": lambda: distributed.all_gather_into_tensor(whole, part, group=group),
            "reduce_scatter": lambda: distributed.reduce_scatter_tensor(part, whole, group=group),
            "all_reduce": lambda: distributed.all_reduce(whole, group=group),
            "all_to_all": lambda: distributed.all_to_all_single(other, whole, group=group),
        }[case["op"]]

    def _random(self, *size: int) -> Any:
        return self.torch.randn(*size, dtype=self.half, device=self.device)

    def _empty(self, elements: int) -> Any:
        return self.torch.zeros(elements, dtype=self.half, device=self.device)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value
