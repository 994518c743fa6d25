"""Ray: `Plan` -> `ray/<target>.yaml`, a RayJob of KubeRay, and the program that starts each of its nodes."""

from ..backend import Launcher
from ..kubernetes import problems
from ..kubernetes.read import read
from .manifest import emit, facts

LAUNCHER = Launcher(
    name="ray",
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
