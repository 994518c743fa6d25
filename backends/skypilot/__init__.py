"""SkyPilot: `Plan` -> `skypilot/<target>.yaml`, a task that runs its entry script on each node."""

from ..backend import Launcher
from . import problems
from .read import facts, read
from .task import emit

LAUNCHER = Launcher(
    name="skypilot",
    emit=emit,
    array=None,
    read=read,
    facts=facts,
    warnings=problems.warnings,
    codes=problems.CODES,
    manual=problems.MANUAL,
    start="cd {folder} && sky jobs launch {file}",
)

__all__ = ["LAUNCHER", "emit", "facts", "read"]
