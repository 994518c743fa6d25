"""Run by Python as it starts: surrounds a framework's first import with its stand-ins for a GPU."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

#: Environment variable: `package=file` of every framework that has stand-ins, separated as in PATH.
VARIABLE = "PARC_SMOKE_STAND_INS"
STAND_INS = dict(
    item.split("=", 1) for item in os.environ.get(VARIABLE, "").split(os.pathsep) if item
)


class StandInFinder:
    """Finds a framework, and surrounds its import with its stand-ins."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in STAND_INS:
            return None
        finders: list[Any] = sys.meta_path
        finders.remove(self)
        found = find_spec(name)
        # Others ask whether a framework is there, and do not import it.
        finders.insert(0, self)
        return None if found is None else _with_stand_ins(found, STAND_INS[name])


def _with_stand_ins(spec: ModuleSpec, path: str) -> ModuleSpec:
    loader: Any = spec.loader
    load = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        with runpy.run_path(path)["stand_ins"]():
            load(module)

    loader.exec_module = exec_module
    return spec


finders: list[Any] = sys.meta_path
finders.insert(0, StandInFinder())
