"""A framework's needs to train a shrunken job on this machine, and the Python that trains it."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..compiler.plan import Layout
from ..dsl.job import Job

#: Settings of a target's `extra` table.
Extra = dict[str, str | int | float | bool]


@dataclass(frozen=True)
class Interpreter:
    """A Python: the path that starts it, versions by package name, and how many GPUs it sees."""

    path: str
    packages: Mapping[str, str]
    gpus: int

    def has(self, names: tuple[str, ...]) -> bool:
        return all(name in self.packages for name in names)


@dataclass(frozen=True)
class SmokeRun:
    """How a framework trains a shrunken job through its emitted entry script."""

    packages: tuple[str, ...]
    """Python packages that a job may need; the interpreters are asked for their versions."""
    needs: Callable[[Job], tuple[str, ...]]
    """Those of `packages` without which this job cannot be trained."""
    install: Callable[[Job], str]
    """A command that installs them, for the help of a complaint."""
    settings: Callable[[Job, Path, bool], Any]
    """`settings(job, folder, gpus)`: the target's options for the run; writes its data into the folder."""
    step: re.Pattern[str]
    """Finds number and loss of a step in a log line, as groups 1 and 2."""
    variables: frozenset[str] = frozenset()
    """Variables of the caller's environment that would change what the entry script does."""
    refuses: Callable[[Job, Interpreter], str | None] = field(default=lambda job, python: None)
    """Why a Python with all packages still cannot train the job."""
    held: Callable[[Job], Collection[str]] = field(default=lambda job: ())
    """Decisions that stay neutral without a GPU: degrees are 1 then."""
    replaced: Callable[[Job], Iterator[str]] = field(default=lambda job: iter(()))
    """What else runs than the job asks for without a GPU, a line of the report each."""
    leaves: Callable[[Layout], bool] = field(default=lambda layout: True)
    """Whether a run without a GPU writes a checkpoint that the next stage reads, by its layout."""
    environment: Callable[[Job, Path], Mapping[str, str]] = field(default=lambda job, folder: {})
    """`environment(job, folder)`: variables of a run without a GPU."""
    stand_ins: Mapping[str, Path] = field(default_factory=dict)
    """Package -> a Python file whose context manager `stand_ins()` surrounds its import without a GPU."""


def without(extra: Mapping[str, Any], gpu_only: Collection[str], gpus: bool) -> Extra:
    """The settings of `extra`, without a GPU less those that only a GPU can do."""
    return {key: value for key, value in extra.items() if gpus or key not in gpu_only}
