"""Text -> `Job`: the language, its units, its diagnostics and its standard library.

What this package offers is loaded when it is first used: linting needs no parser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .check import load, loads
    from .diagnostics import Diagnostic, JobError, Note, Source, Span, render
    from .job import Job
    from .library import StdEntry, std_entries
    from .standard import std_cluster, std_gpu, std_model

__all__ = [
    "Diagnostic",
    "Job",
    "JobError",
    "Note",
    "Source",
    "Span",
    "StdEntry",
    "load",
    "loads",
    "render",
    "std_cluster",
    "std_entries",
    "std_gpu",
    "std_model",
]

_MODULES = {
    "check": ("load", "loads"),
    "diagnostics": ("Diagnostic", "JobError", "Note", "Source", "Span", "render"),
    "job": ("Job",),
    "library": ("StdEntry", "std_entries"),
    "standard": ("std_cluster", "std_gpu", "std_model"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
