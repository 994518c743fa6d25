"""The seam of a backend: everything that parc knows of a framework, declared in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..compiler.plan import Plan
from ..compiler.target import Codes, Target
from ..reading.facts import LaunchConfig, Value
from .reader import Reader
from .smoke_run import SmokeRun


@dataclass(frozen=True)
class Backend:
    """Everything that parc knows of a framework.

    `emit(plan)` gives file texts by path below the output folder and raises `JobError` for what the framework
    cannot express. `facts(plan)` is what reading those files must give back, in a plan's words. `entry` is
    the emitted script that starts the job on one node: it reads NNODES, NODE_RANK, MASTER_ADDR and
    MASTER_PORT (defaults: one node, rank 0, this machine) and is made executable. `reader` understands launch
    files and logs, the framework's own and other people's. `smoke` trains a small job on this machine.
    """

    target: Target
    emit: Callable[[Plan], dict[str, str]]
    facts: Callable[[Plan], dict[str, Value]]
    entry: str
    reader: Reader
    smoke: SmokeRun


@dataclass(frozen=True)
class Launcher:
    """A way to start a plan's `entry` on all nodes: `emit(plan, entry)` gives its files.

    `read(files)` is the inverse of `emit`, and `facts(plan)` what it must give back. `codes` names what
    `emit` complains of, `manual` is the page that says why.
    """

    name: str
    emit: Callable[[Plan, str], dict[str, str]]
    read: Callable[[Mapping[str, str]], LaunchConfig]
    facts: Callable[[Plan], dict[str, Value]]
    codes: Codes
    manual: str
