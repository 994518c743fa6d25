"""Run by Python as it starts: lets torchtitan's first import find the stand-ins of `torchtitan_on_cpu`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class BesideTorchtitan:
    """Puts the stand-ins in place around the import of torchtitan, then goes."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torchtitan":
            return None
        finders: list[Any] = sys.meta_path
        finders.remove(self)
        found = find_spec(name)
        return None if found is None else _with_stand_ins(found)


def _with_stand_ins(spec: ModuleSpec) -> ModuleSpec:
    loader: Any = spec.loader
    load = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        with import_module("torchtitan_on_cpu").stand_ins():
            load(module)

    loader.exec_module = exec_module
    return spec


finders: list[Any] = sys.meta_path
finders.insert(0, BesideTorchtitan())
