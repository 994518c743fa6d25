"""OR-Tools' CP-SAT, loaded without pandas, which it needs for series of variables alone.

pandas takes a third of the time in which OR-Tools loads, and parc has no series of variables. While the
module loads, a stand-in takes its place; what asks OR-Tools for a series later is given the real one.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

CP_MODEL = "ortools.sat.python.cp_model"


class _Later(ModuleType):
    """pandas, loaded when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module("pandas"), name)


def load() -> None:
    """Loads OR-Tools unless it is there; where a release wants more of pandas than the stand-in has, it loads
    with the real one where it is imported next."""
    if sys.modules.keys() & {"pandas", CP_MODEL}:
        return
    stand_in = ModuleType("pandas")
    for name in ("Index", "Series"):
        setattr(stand_in, name, type(name, (), {}))
    sys.modules["pandas"] = stand_in
    try:
        import_module(CP_MODEL).__dict__["pd"] = _Later("pandas")
    except AttributeError:
        sys.modules.pop(CP_MODEL, None)
    finally:
        del sys.modules["pandas"]
