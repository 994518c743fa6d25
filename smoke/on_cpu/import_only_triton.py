"""A triton package that can be imported but not run: frameworks import it, and PyTorch for CPUs lacks it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any


@contextmanager
def import_only_triton() -> Iterator[None]:
    """While the context lasts, `import triton` works. After it torch._inductor must find no triton."""
    try:
        import_module("triton")
    except ImportError:
        pass
    else:
        yield
        return
    import_module("torch.utils._triton").has_triton_package()
    for name in ("_dynamo", "_inductor.runtime.hints", "_inductor.utils"):
        import_module(f"torch.{name}")
    import_module("torch.nn.attention.flex_attention")
    modules = {"triton": named("triton"), "triton.language": named("triton.language")}
    modules["triton"].language = modules["triton.language"]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]


def named(name: str) -> Any:
    """A module in which every name is a class; its calls and decorators do nothing."""
    module: Any = ModuleType(name)
    module.__path__, module.__version__ = [], "0.0.0"
    module.jit = lambda function=None, **_: function if function else lambda kernel: kernel
    module.autotune = module.heuristics = lambda *_, **__: lambda kernel: kernel
    module.Config = lambda *_, **__: None

    def missing(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return type(attribute, (), {"__init__": lambda self, *_, **__: None})

    module.__getattr__ = missing
    return module
