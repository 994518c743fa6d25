"""What Megatron-LM asks of a GPU, its driver and Transformer Engine before it trains, answered without them.

Stood in for, so not proven: the GPU's compute capability, Transformer Engine's version and kernels, triton,
collectives (PyTorch's fake process group: its arithmetic is real, nothing travels).
"""

from __future__ import annotations

import os
import runpy
import sys
import types
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

#: Stand-ins that `parc smoke` trains with.
sys.path.append(str(Path(__file__).resolve().parents[3] / "smoke" / "on_cpu"))
from import_only_triton import import_only_triton

ON_CPU = runpy.run_path(
    str(Path(__file__).resolve().parents[3] / "backends" / "megatron" / "on_cpu.py")
)

#: What is there while Megatron-LM is imported.
IMPORTING = ExitStack()
TRANSFORMER_ENGINE = "2.9.0"


class WithoutGpu(TorchFunctionMode):
    """Tensors that are wanted on a GPU are made on another device."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(
        self, function: Any, kinds: Any, args: Any = (), named: Any = None
    ) -> Any:
        if function is torch.Tensor.cuda:
            return args[0]
        named = dict(named or {})
        if str(named.get("device", "")).startswith("cuda") or type(named.get("device")) is int:
            named["device"] = self.device
        if named.get("pin_memory"):  # for copies to a GPU
            named["pin_memory"] = False
        return function(*args, **named)


def before_import() -> None:
    warnings.simplefilter("ignore")
    os.environ["NO_VCS_VERSION"] = "1"
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    ON_CPU["newer_typing"]()
    IMPORTING.enter_context(import_only_triton())


def after_import() -> None:
    """Kernels of Transformer Engine that arguments are checked against: there, and never called."""
    import megatron.core.models.common.embeddings.rope_utils as rope
    import megatron.core.parallel_state as parallel_state
    import megatron.core.transformer.moe.moe_utils as experts
    import megatron.core.utils as utils
    from packaging.version import Version

    IMPORTING.close()
    parallel_state.get_nccl_options = lambda *arguments: None
    utils._te_version = Version(TRANSFORMER_ENGINE)
    kernels = {
        rope: ("fused_apply_rotary_pos_emb", "fused_apply_rotary_pos_emb_thd"),
        experts: (
            "fused_permute",
            "fused_permute_with_probs",
            "fused_sort_chunks_by_index",
            "fused_sort_chunks_by_index_with_probs",
            "fused_unpermute",
        ),
    }
    for module, names in kernels.items():
        for name in names:
            if getattr(module, name, None) is None:
                setattr(module, name, _never_called)
    optimizers: Any = types.ModuleType("transformer_engine.pytorch.optimizers")
    optimizers.FusedAdam = _fused_adam
    sys.modules[optimizers.__name__] = optimizers


def _never_called(*arguments: Any, **named: Any) -> None:
    raise RuntimeError("a kernel of Transformer Engine was called")


def _fused_adam(
    master_weight_dtype: Any, exp_avg_dtype: Any, exp_avg_sq_dtype: Any, use_decoupled_grad: bool
) -> None:
    """The names that the precision-aware optimizer looks for (optimizer_config.py:453)."""
    _never_called()


def gpu(major: int, minor: int) -> None:
    """A GPU of that compute capability."""
    properties = types.SimpleNamespace(
        major=major, minor=minor, name="stand-in", total_memory=80 << 30, multi_processor_count=132
    )
    torch.cuda.get_device_capability = lambda *arguments, **named: (major, minor)
    torch.cuda.get_device_properties = lambda *arguments, **named: properties
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 8
    torch.cuda.Stream = lambda *arguments, **named: None
    torch.cuda.Event = lambda *arguments, **named: None
