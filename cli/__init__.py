"""parc: compile a training job into its best parallel layout, and into the files that run it.

The Python API: `load` a job file, `compile` it into plans, `estimate` one given layout,
`lint` launch files. Each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import compile, estimate, load

__all__ = ["__version__", "compile", "estimate", "lint", "load"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("parc-compiler")
    if name == "lint":
        # A package that can be called: the function and the package have one name.
        return import_module(".lint", __name__)
    if name in __all__:
        return getattr(import_module(".api", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
