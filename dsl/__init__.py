"""Text -> `Job`: the language, its units, its diagnostics and its standard library."""

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
