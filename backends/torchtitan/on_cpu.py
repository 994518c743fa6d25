"""Replacements with which torchtitan 0.2 and 0.3.0 train without a GPU: in memory, no file is edited.

`stand_ins` surrounds the import of torchtitan. Each replacement names what it replaces.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import SimpleNamespace
from typing import Any

GIB = 2**30
#: Module of torchtitan.models and its class that calls FlexAttention.
ATTENTION = {"common.attention": "FlexAttention", "attention": "FlexAttentionWrapper"}


@contextmanager
def stand_ins() -> Iterator[None]:
    torch: Any = import_module("torch")
    one_cpu_device(torch)
    sums_for_gloo()
    integer_histograms(torch)
    newer_timeouts(torch)
    newer_schedules()
    with import_module("import_only_triton").import_only_triton():
        yield
        for name in ("models.moe", "models.common.token_dispatcher"):
            with suppress(ImportError):
                import_module(f"torchtitan.{name}")
    dense_attention(torch)
    plain_attention()
    reference_permutation()


def one_cpu_device(torch: Any) -> None:
    """torchtitan asks torch.<device> for memory, names and numbers of devices."""
    utilities: Any = import_module("torch._utils")
    utilities._get_available_device_type = lambda: "cpu"
    properties = SimpleNamespace(total_memory=80 * GIB, name="cpu")
    answers: dict[str, Any] = {
        "set_device": None,
        "current_device": 0,
        "get_device_name": "cpu",
        "get_device_properties": properties,
        "reset_peak_memory_stats": None,
        "empty_cache": None,
        "memory_stats": {},
    }
    for name, answer in answers.items():
        setattr(torch.cpu, name, lambda *_, answer=answer: answer)


def sums_for_gloo() -> None:
    """gloo reduces with SUM alone, so FSDP2 has to divide by itself."""
    collectives: Any = import_module("torch.distributed.fsdp._fully_shard._fsdp_collectives")
    factors = collectives._get_gradient_divide_factors

    def summed(
        scatter: Any,
        reduce: Any,
        dtype: Any,
        device_type: str = "",
        factor: float | None = None,
        force_sum_reduction_for_comms: bool = False,
    ) -> Any:
        return factors(scatter, reduce, dtype, device_type, factor, True)

    collectives._get_gradient_divide_factors = summed


def integer_histograms(torch: Any) -> None:
    """A router of experts counts integers, for which CPUs have no torch.histc."""
    histogram = torch.histc

    def counted(values: Any, *arguments: Any, **settings: Any) -> Any:
        numbers = values if values.is_floating_point() else values.float()
        return histogram(numbers, *arguments, **settings).to(values.dtype)

    torch.histc = counted


def newer_timeouts(torch: Any) -> None:
    """torchtitan 0.3.0 calls torch.distributed.set_timeout, which torch 2.13 has under another name."""
    if not hasattr(torch.distributed, "set_timeout"):
        torch.distributed.set_timeout = torch.distributed.distributed_c10d._set_pg_timeout


def newer_schedules() -> None:
    """torchtitan 0.3.0 hands pipelines their micro-batches by name, which torch 2.13 does not know."""
    schedules: Any = import_module("torch.distributed.pipelining.schedules")
    for kind in (schedules.PipelineScheduleSingle, schedules.PipelineScheduleMulti):
        if "arg_mbs" not in inspect.signature(kind.step).parameters:
            kind.step = stepping(kind.step)


def stepping(step: Any) -> Any:
    def stepped(
        self: Any,
        *arguments: Any,
        arg_mbs: Any = None,
        kwarg_mbs: Any = None,
        target_mbs: Any = None,
        losses: Any = None,
        return_outputs: bool = True,
        loss_kwargs: Any = None,
        **settings: Any,
    ) -> Any:
        if arg_mbs is None and kwarg_mbs is None:
            settings |= {"losses": losses, "loss_kwargs": loss_kwargs}
            return step(self, *arguments, return_outputs=return_outputs, **settings)
        for stage in getattr(self, "_stages", None) or [self._stage]:
            stage.has_backward = self._has_backward
            stage.clear_runtime_states()
        inputs = [()] * self._n_microbatches if arg_mbs is None else arg_mbs
        batches = (inputs, kwarg_mbs, target_mbs, losses, return_outputs)
        return self._step_microbatches(*batches, loss_kwargs=loss_kwargs)

    return stepped


def dense_attention(torch: Any) -> None:
    """FlexAttention has no backward pass on CPUs: the same mask in dense attention.

    0.3.0 asks for what else it computes as `return_aux`, 0.2.2 for the logarithm of sums as `return_lse`.
    """
    flexible: Any = import_module("torch.nn.attention.flex_attention")
    numbers = torch.arange

    def dense(
        query: Any,
        key: Any,
        value: Any,
        *,
        block_mask: Any = None,
        scale: float | None = None,
        enable_gqa: bool = False,
        return_lse: bool = False,
        return_aux: Any = None,
        **_: Any,
    ) -> Any:
        mask = block_mask.mask_mod(
            numbers(query.shape[0]).view(-1, 1, 1, 1),
            numbers(1).view(1, 1, 1, 1),
            numbers(query.shape[2]).view(1, 1, -1, 1),
            numbers(key.shape[2]).view(1, 1, 1, -1),
        ).expand(query.shape[0], 1, query.shape[2], key.shape[2])
        attended = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=scale, enable_gqa=enable_gqa
        )
        wanted = return_lse or (return_aux is not None and return_aux.lse)
        sums = logarithms(query, key, mask, scale) if wanted else None
        if return_aux is not None:
            return attended, flexible.AuxOutput(lse=sums, max_scores=None)
        return (attended, sums) if return_lse else attended

    for module, name in ATTENTION.items():
        with suppress(ImportError):
            attention = getattr(import_module(f"torchtitan.models.{module}"), name)
            attention._compiled_flex_attn = staticmethod(dense)


def plain_attention() -> None:
    """0.2.0 leaves out the one kernel that takes values narrower than keys on CPUs."""
    backends: Any = import_module("torch.nn.attention").SDPBackend
    with suppress(ImportError, AttributeError):
        attention: Any = import_module(
            "torchtitan.models.attention"
        ).ScaledDotProductAttentionWrapper
        attention.sdpa_backends = [backends.FLASH_ATTENTION, backends.MATH]


def logarithms(query: Any, key: Any, mask: Any, scale: float | None) -> Any:
    """Logarithms of the sums of exponentials of the scores, by which sinks are weighed."""
    keys = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query @ keys.transpose(-2, -1)).float() * factor
    return scores.masked_fill(~mask, float("-inf")).logsumexp(dim=-1)


def reference_permutation() -> None:
    """0.2.2 sorts tokens by expert in a triton kernel; its own reference beside it runs on CPUs."""
    try:
        kernels: Any = import_module("torchtitan.models.moe.kernels")
    except ImportError:
        return
    kernels.fill_indices_wrapper = lambda *given, **_: kernels.fill_indices_cpu(*given[:6])
