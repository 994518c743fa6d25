"""Kubernetes: `Plan` -> `kubernetes/<target>.yaml`, a JobSet, TrainJob or PyTorchJob with what it mounts."""

from ..backend import Launcher
from . import problems
from .manifest import emit
from .read import facts, read

LAUNCHER = Launcher(
    name="kubernetes",
    emit=emit,
    array=None,
    read=read,
    facts=facts,
    warnings=problems.warnings,
    codes=problems.CODES,
    manual=problems.MANUAL,
    start="kubectl create -f {folder}/{file}",
)

__all__ = ["LAUNCHER", "emit", "facts", "read"]
