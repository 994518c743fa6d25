"""The seam of a backend: everything that parc knows of a framework, declared in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..compiler.plan import Plan
from ..compiler.target import Codes, Target
from ..reading.facts import LaunchConfig, Value
from .smoke_run import SmokeRun
from .stack_facts import Stack

if TYPE_CHECKING:
    from .reader import Reader


def when_called(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is first called: who reads a job writes no files."""

    def function(*arguments: Any) -> Any:
        return getattr(import_module(module), name)(*arguments)

    function.__module__, function.__name__ = module, name
    return function


@dataclass(frozen=True)
class Backend:
    """Everything that parc knows of a framework.

    `emit(plan)` gives file texts by path below the output folder and raises `JobError` for what the framework
    cannot express. `facts(plan)` is what reading those files must give back, in a plan's words. `entry` is
    the emitted script that starts the job on one node: it reads NNODES, NODE_RANK, MASTER_ADDR and
    MASTER_PORT (defaults: one node, rank 0, this machine) and is made executable. `smoke` trains a small job
    on this machine. `stack` says of each fact of `stack_facts.FACTS` how a job says it, or what it always is.
    `first` is what the target of a first job says, with a remark: where to put data.
    With the settings of `brief` a run leaves no checkpoint, does nothing beside its steps and reports each.
    `package` is the framework's own, whose `read.READER` is `reader`.
    """

    package: str
    target: Target
    emit: Callable[[Plan], dict[str, str]]
    facts: Callable[[Plan], dict[str, Value]]
    entry: str
    smoke: SmokeRun
    brief: Mapping[str, Any]
    stack: Stack = field(default_factory=dict)
    first: tuple[str, str] = ("", "")

    @property
    def reader(self) -> Reader:
        """Understands launch files and logs, the framework's own and other people's; loaded only by those who
        read."""
        reader: Reader = import_module(f"{self.package}.read").READER
        return reader


@dataclass(frozen=True)
class Launcher:
    """A way to start a plan's `entry` on all nodes: `emit(plan, entry)` gives its files.

    `array(plans, folder, log)` gives the file that runs plans of one shape one after another, plan n in
    `folder`n, where it writes `log`.
    `read(files)` is the inverse of `emit`, and `facts(plan)` what it must give back. `codes` names what
    `emit` complains of, `manual` is the page that says why.
    """

    name: str
    emit: Callable[[Plan, str], dict[str, str]]
    array: Callable[[Sequence[Plan], str, str], dict[str, str]]
    read: Callable[[Mapping[str, str]], LaunchConfig]
    facts: Callable[[Plan], dict[str, Value]]
    codes: Codes
    manual: str
