"""torchtitan: `Plan` -> train.toml, parc_model.py and launch.sh, and such files -> `LaunchConfig`."""

from ..backend import Backend
from ..observation import QUIET
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
    brief={**QUIET, "save": False, "validation": None},
    stack=FACTS,
    first=('data = "c4"', "or a file or folder of rows with a `text`"),
)

__all__ = ["BACKEND"]
