"""`std.h100_pod` -> the cluster of that name."""

from ..dsl.diagnostics import Diagnostic, JobError, did_you_mean
from ..dsl.hardware import Cluster
from ..dsl.library import std_entries
from ..dsl.standard import std_cluster

#: Shared with the command line: a name that the standard library lacks.
NO_STD_ENTRY = "PAR094"


def cluster_named(name: str) -> Cluster:
    """Raises `JobError` for a name that is no cluster of the standard library."""
    known = [entry.name for entry in std_entries() if entry.kind == "cluster"]
    short = name.removeprefix("std.")
    if short not in known:
        message = f"the standard library has no cluster `{name}`"
        help_text = did_you_mean(short, known) or "`parc std` lists them"
        raise JobError([Diagnostic(NO_STD_ENTRY, message, help=help_text)])
    return std_cluster(short).model_copy(update={"name": f"std.{short}"})
