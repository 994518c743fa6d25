"""The seam of a backend: a target, `emit(plan) -> files`, `read(text) -> LaunchConfig`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..compiler.plan import Plan
from ..compiler.target import Codes, Target
from ..reading.facts import LaunchConfig, Value
from .log import RunLog
from .smoke_run import SmokeRun


@dataclass(frozen=True)
class Backend:
    """A framework: `emit(plan)` gives file texts by path below the output folder;
    `read(files)` is its inverse.

    `emit` raises `JobError` for what the framework cannot express. `facts(plan)` is what `read(emit(plan))`
    must give back. `entry` is the emitted script that starts the job on one node. It reads NNODES,
    NODE_RANK, MASTER_ADDR and MASTER_PORT (defaults: one node, rank 0, this machine) and is made executable.
    `read_log(text)` understands what a run printed; None for the log of another framework.
    """

    target: Target
    emit: Callable[[Plan], dict[str, str]]
    read: Callable[[Mapping[str, str]], LaunchConfig]
    facts: Callable[[Plan], dict[str, Value]]
    entry: str
    read_log: Callable[[str], RunLog | None]
    smoke: SmokeRun


@dataclass(frozen=True)
class Launcher:
    """A way to start a plan's `entry` on all nodes: `emit(plan, entry)` and its inverse, as in `Backend`.

    `codes` names what `emit` complains of, `manual` is the page that says why.
    """

    name: str
    emit: Callable[[Plan, str], dict[str, str]]
    read: Callable[[Mapping[str, str]], LaunchConfig]
    facts: Callable[[Plan], dict[str, Value]]
    codes: Codes
    manual: str
