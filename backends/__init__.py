"""`Plan` -> launch files and back, one module per framework and launcher, listed here."""

from __future__ import annotations

from collections import ChainMap
from importlib import import_module
from typing import TYPE_CHECKING

from .backend import Backend, Launcher
from .registry import Registry, TargetOptions

if TYPE_CHECKING:
    from ..reading.facts import LaunchConfig
    from .reader import Reader

#: By the name in `target NAME { ... }`, in the order of reports.
BACKENDS: Registry[Backend] = Registry(
    __name__, "BACKEND", ("megatron", "deepspeed", "torchtitan", "accelerate")
)

#: Targets that plan for no framework: they have layouts and prices, and nothing else of a backend.
PLANNED: Registry[Backend] = Registry(__name__, "BACKEND", ("plan",))

#: Whatever a job may name as a target, frameworks first.
TARGETS: ChainMap[str, Backend] = ChainMap(PLANNED, BACKENDS)

#: By the name in `launch NAME { ... }`.
LAUNCHERS: Registry[Launcher] = Registry(
    __name__, "LAUNCHER", ("slurm", "kubernetes", "hosts", "skypilot", "ray")
)

#: The settings of each `target NAME { ... }`.
OPTIONS = TargetOptions(TARGETS)

#: Packages here of programs that train with several frameworks: they are read and not written.
READ_ONLY = ("verl", "nemo", "nanotron", "foundry")


def readers() -> list[Reader]:
    """Readers of all programs whose files are read, the frameworks' last; loaded only by those who read."""
    others: list[Reader] = [import_module(f"{__name__}.{name}").READER for name in READ_ONLY]
    found = [*others, *(backend.reader for backend in BACKENDS.values())]
    return sorted(found, key=lambda reader: not reader.asked_first)


def reader_of(config: LaunchConfig) -> Reader | None:
    """The reader of the framework or program whose job it is; None where nothing tells."""
    if config.framework is not None:
        return BACKENDS[config.framework].reader if config.framework in BACKENDS else None
    named = config.kind.program
    return next((each for each in readers() if each.program and each.program.name == named), None)
