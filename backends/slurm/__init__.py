"""SLURM: `Plan` -> `slurm/<target>.sbatch`, which starts the plan's entry script once on every node."""

from ..backend import Launcher
from . import options
from .array import array
from .emit import emit, facts
from .read import read

LAUNCHER = Launcher(
    name="slurm",
    emit=emit,
    array=array,
    read=read,
    facts=facts,
    warnings=options.warnings,
    codes=options.CODES,
    manual=options.MANUAL,
    start="sbatch {folder}/{file}",
)

__all__ = ["LAUNCHER", "emit", "facts", "read"]
