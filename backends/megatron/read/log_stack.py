"""Megatron-LM's printed arguments -> the settings of `target megatron` that were true of the run.

Only what the arguments state: what a release does not print, or what a layout has no part of, is left to the
job. Enumerations print as `AttnBackend.fused`, dtypes as `torch.bfloat16` or as they were given.
"""

from collections.abc import Mapping
from typing import Any

from ...described import known
from ..stack import WHOLE_STEP
from ..transformer_engine import ATTENTION, FORMATS

Arguments = Mapping[str, str]
_SWITCH = {"True": True, "False": False}


def stack(arguments: Arguments, layout: Mapping[str, int]) -> dict[str, Any]:
    """Kernels and traffic of the run; `layout` has its tp, cp and dp."""
    return known(**_traffic(arguments, layout), **_kernels(arguments))


def _traffic(arguments: Arguments, layout: Mapping[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {"grad_dtype": _dtype(arguments)}
    if layout.get("tp", 1) > 1:
        found["tp_overlap"] = _switch(arguments, "tp_comm_overlap")
        found["sequence_parallel"] = _switch(arguments, "sequence_parallel")
    if layout.get("dp", 1) * layout.get("cp", 1) > 1 and not _switch(
        arguments, "use_megatron_fsdp"
    ):
        found["dp_overlap"] = _switch(arguments, "overlap_grad_reduce")
    if _given(arguments, "num_experts"):
        found["dispatcher"] = _dispatcher(arguments)
        found["ep_overlap"] = _switch(arguments, "overlap_moe_expert_parallel_comm")
    return found


def _kernels(arguments: Arguments) -> dict[str, Any]:
    backend = arguments.get("attention_backend", "").rpartition(".")[2]
    version = arguments.get("flash_attention_version", "None")
    said = (backend, int(version) if version in ("2", "3") else None)
    fused = _switch(arguments, "cross_entropy_loss_fusion")
    own = arguments.get("cross_entropy_fusion_impl", "native") == "native"
    found: dict[str, Any] = {
        "attention_kernel": next((name for name, has in ATTENTION.items() if has == said), None),
        "loss_kernel": (
            {True: "fused", False: "eager"}[fused] if fused is not None and own else None
        ),
        "moment_dtype": _moments(arguments),
    }
    if "cuda_graph_impl" in arguments:
        found["cuda_graph"] = arguments["cuda_graph_impl"] == WHOLE_STEP
    if _given(arguments, "fp8"):
        recipe = arguments.get("fp8_recipe")
        found["fp8_recipe"] = recipe if recipe in FORMATS and recipe != "mxfp8" else None
        if _switch(arguments, "use_distributed_optimizer"):
            found["fp8_params"] = _switch(arguments, "fp8_param_gather")
    return found


def unfused(arguments: Arguments) -> bool | None:
    """Whether attention writes its scores; None where the backend is left to Transformer Engine."""
    backend = arguments.get("attention_backend", "").rpartition(".")[2]
    return {"unfused": True, "local": True, "fused": False, "flash": False}.get(backend)


def _switch(arguments: Arguments, name: str) -> bool | None:
    return _SWITCH.get(arguments.get(name, ""))


def _given(arguments: Arguments, name: str) -> bool:
    return arguments.get(name, "None") not in ("None", "False")


def _dtype(arguments: Arguments) -> str | None:
    reduced = _switch(arguments, "grad_reduce_in_bf16")
    return None if reduced is None else {True: "bf16", False: "fp32"}[reduced]


def _moments(arguments: Arguments) -> str | None:
    """Their dtype where it is one that the language has, and the optimizer that keeps it runs."""
    if not _switch(arguments, "use_precision_aware_optimizer"):
        return None
    names = ("exp_avg_dtype", "exp_avg_sq_dtype")
    found = {arguments.get(name, "").removeprefix("torch.") for name in names}
    return {"bf16": "bf16", "bfloat16": "bf16", "fp32": "fp32", "float32": "fp32"}.get(
        found.pop() if len(found) == 1 else ""
    )


def _dispatcher(arguments: Arguments) -> str | None:
    """DeepEP unless the flex dispatcher is told another; NCCL EP is no word of the language."""
    kind = arguments.get("moe_token_dispatcher_type")
    if kind != "flex":
        return "alltoall" if kind == "alltoall" else None
    backend = arguments.get("moe_flex_dispatcher_backend", "deepep")
    return backend if backend in ("deepep", "hybridep") else None
