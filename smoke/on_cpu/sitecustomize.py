"""Run by Python as it starts: lets a framework's first import find its stand-ins beside this file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

#: Package -> the module with its stand-ins.
STAND_INS = {"torchtitan": "torchtitan_on_cpu", "megatron.core": "megatron_on_cpu"}


class BesideFramework:
    """Puts the stand-ins in place around the import of the framework, then goes."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in STAND_INS:
            return None
        finders: list[Any] = sys.meta_path
        finders.remove(self)
        found = find_spec(name)
        return None if found is None else _with_stand_ins(found, STAND_INS[name])


def _with_stand_ins(spec: ModuleSpec, module_name: str) -> ModuleSpec:
    loader: Any = spec.loader
    load = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        with import_module(module_name).stand_ins():
            load(module)

    loader.exec_module = exec_module
    return spec


finders: list[Any] = sys.meta_path
finders.insert(0, BesideFramework())
