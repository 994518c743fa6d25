"""torchtitan: `Plan` -> train.toml, parc_model.py and launch.sh, and such files -> `LaunchConfig`."""

from ..backend import Backend, when_called
from ..observation import QUIET
from .smoke import SMOKE
from .stack import FACTS
from .target import ENTRY, TARGET

BACKEND = Backend(
    __name__,
    target=TARGET,
    emit=when_called(f"{__name__}.emit.files", "emit"),
    facts=when_called(f"{__name__}.emit.files", "facts"),
    entry=ENTRY,
    smoke=SMOKE,
    brief={**QUIET, "save": False, "validation": None},
    stack=FACTS,
    first=('data = "c4"', "or a file or folder of rows with a `text`"),
)

__all__ = ["BACKEND"]
