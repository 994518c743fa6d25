"""An import-only stand-in for triton, which frameworks import although only a GPU can use it."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any


class _Anything:
    """A lower-case name of the stand-in: decorator, call or holder of attributes."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if len(arguments) == 1 and callable(arguments[0]) and not named:
            return arguments[0]
        return lambda function=None, *rest, **more: function

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


class _Module(types.ModuleType):
    __path__: list[str] = []
    __version__ = "3.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": _take_anything}) if name[:1].isupper() else _Anything()


def _take_anything(self: object, *arguments: Any, **named: Any) -> None:
    pass


class _Finder:
    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name.partition(".")[0] != "triton":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def install() -> None:
    """PyTorch asks first and learns that there is no triton; later imports find the stand-in."""
    import torch._dynamo
    import torch._inductor.codegen.triton
    import torch.nn.attention.flex_attention
    import torch.utils.flop_counter  # noqa: F401
    from torch.utils._triton import has_triton, has_triton_package

    has_triton_package()
    has_triton()
    sys.meta_path.append(_Finder())
