"""The machine that the probe runs on: its GPUs, hosts and versions, and the kernels that are installed."""

from __future__ import annotations

import os
import socket
from typing import Any

from .cases import Case
from .ranks import Ranks

#: Changes when rows of an older program mean something else.
FORMAT = 1


def machine(torch: Any, ranks: Ranks) -> Case:
    """The machine of this run: the first line of its rows."""
    found: Case = {
        "kind": "machine", "format": FORMAT, "device": ranks.device, "torch": torch.__version__,
        "ranks": ranks.count, "per_node": ranks.on_node, "cpu_cores": os.cpu_count() or 1,
        "node_memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }  # fmt: skip
    found |= _gpu(torch) if ranks.device == "cuda" else _cpu(found)
    return {**found, "hosts": ranks.agree(socket.gethostname())}


def _gpu(torch: Any) -> Case:
    it = torch.cuda.get_device_properties(torch.cuda.current_device())
    amd = torch.version.hip is not None
    arch = it.gcnArchName.partition(":")[0] if amd else f"sm{it.major}{it.minor}"
    versions = {
        "cuda": torch.version.cuda or torch.version.hip,
        "vendor": "amd" if amd else "nvidia",
    }
    sizes = {"sms": it.multi_processor_count, "memory": it.total_memory}
    return {"name": it.name, "arch": arch, **sizes, **versions}


def _cpu(found: Case) -> Case:
    share = found["node_memory"] // found["per_node"]
    return {"name": "CPU", "arch": "cpu", "sms": 1, "memory": share, "vendor": "nvidia"}


def available(torch: Any, device: str) -> tuple[list[str], list[str]]:
    """Precisions of products, and libraries with their kernel of attention, that this GPU and Python have."""
    if device == "cpu":
        return ["bf16"], ["torch:sdpa"]
    major, minor = torch.cuda.get_device_capability()
    amd = torch.version.hip is not None
    dtypes = ["bf16" if amd or major >= 8 else "fp16"]
    if not amd and (major, minor) >= (8, 9):
        dtypes.append("fp8")
    kernels = ["torch:fa2" if amd or major >= 8 else "torch:sdpa"]
    if not amd and major >= 8:
        kernels.append("torch:cudnn")
    modules = {
        "flash_attn": "flash_attn:fa2",
        "flash_attn_interface": "flash_attn:fa3",
        "transformer_engine.pytorch": "transformer_engine:te",
    }
    return dtypes, kernels + [kernel for module, kernel in modules.items() if _imports(module)]


def _imports(module: str) -> bool:
    try:
        __import__(module)
    except Exception:  # a library built for another PyTorch fails in its own way
        return False
    return True
