"""parc: compile a training job into its best parallel layout, and into the files that run it.

The Python API: `load` a job file, `compile` it into plans, `estimate` one given layout,
`lint` launch files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compiler.plan import Estimate, Plan
    from .dsl.job import Job

__all__ = ["__version__", "compile", "estimate", "lint", "load"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("parc-compiler")
    if name == "lint":
        # A package of this name that can be called; see its own text.
        from importlib import import_module

        return import_module(".lint", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load(path: str | PathLike[str], overrides: Iterable[str] = ()) -> Job:
    """The job that a file describes; `overrides` are texts such as "train.seq_len=4096".

    Raises `JobError` with every complaint about the file.
    """
    from .backends import BACKENDS
    from .dsl import load as read

    options = {name: backend.target.options for name, backend in BACKENDS.items()}
    return read(path, tuple(overrides), options)


def compile(job: Job, targets: Iterable[str] | None = None) -> list[Plan]:
    """The best plan of each target (those of the job unless named), the best target first.

    Raises `JobError` when no target has a layout; a target without one is left out while another has one.
    """
    from .dsl.diagnostics import JobError
    from .planning import plan_targets

    planned = plan_targets(job, targets)
    if not planned.plans:
        raise JobError([complaint for _, complaint in planned.complaints])
    return list(planned.plans)


def estimate(job: Job, layout: Mapping[str, int], target: str) -> Estimate:
    """What one given layout costs; degrees that it leaves out are 1 or follow from the others.

    Raises `JobError` naming each rule that the layout breaks.
    """
    from .backends import BACKENDS
    from .compiler import estimate as price

    return price(job, BACKENDS[target].target, dict(layout))
