"""torchtitan: `Plan` -> train.toml, parc_model.py and launch.sh, and such files -> `LaunchConfig`."""

from ..backend import Backend
from .emit.files import ENTRY, emit, facts
from .smoke import SMOKE
from .stack import FACTS
from .target import TARGET

BACKEND = Backend(
    __name__,
    target=TARGET,
    emit=emit,
    facts=facts,
    entry=ENTRY,
    smoke=SMOKE,
    brief={"save": False, "validation": None, "log_interval": 1},
    stack=FACTS,
)

__all__ = ["BACKEND"]
