"""torchtitan 0.2.2: `Plan` -> train.toml, parc_model.py and launch.sh, and such files -> `LaunchConfig`."""

from __future__ import annotations

from ..backend import Backend
from .emit.files import emit
from .read.files import facts, read
from .read.log import read_log
from .smoke import SMOKE
from .target import TARGET

BACKEND = Backend(
    target=TARGET,
    emit=emit,
    read=read,
    facts=facts,
    entry="torchtitan/launch.sh",
    read_log=read_log,
    smoke=SMOKE,
)
