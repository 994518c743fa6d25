"""Hosts: `Plan` -> `hosts/<target>.sh`, which starts its entry script on each host of a file over ssh."""

from ..backend import Launcher
from . import problems
from .emit import emit
from .read import facts, read

LAUNCHER = Launcher(
    name="hosts",
    emit=emit,
    array=None,
    read=read,
    facts=facts,
    warnings=problems.warnings,
    codes=problems.CODES,
    manual=problems.MANUAL,
)

__all__ = ["LAUNCHER", "emit", "facts", "read"]
