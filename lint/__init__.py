"""`LaunchConfig` x `Job` -> findings, one rule per file. Called as a function, it is the Python API:
`parc.lint(paths, job=None) -> list[Diagnostic]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..dsl.diagnostics import Diagnostic
    from ..dsl.job import Job


class _Callable(ModuleType):
    """A package that can be called: `parc.lint` names both the package and what it does."""

    def __call__(
        self,
        paths: str | PathLike[str] | Iterable[str | PathLike[str]],
        job: Job | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> list[Diagnostic]:
        """Findings on the launch files at one path or several; with `job`, also where they drift from it.

        Folders are searched for launch files. Raises `JobError` for a path that cannot be read.
        """
        from .judging import LintOptions
        from .run import lint_paths

        options = LintOptions(job=job)
        judged = lint_paths(paths, options, dict(environment or {}), tuple(arguments))
        return [found.diagnostic for each in judged for found in each.findings]


sys.modules[__name__].__class__ = _Callable
