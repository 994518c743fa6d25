"""torchtitan: `Plan` -> train.toml, parc_model.py and launch.sh, and such files -> `LaunchConfig`."""

from ..backend import Backend, when_called
from ..observation import QUIET

BACKEND = Backend(
    __name__,
    emit=when_called(f"{__name__}.emit.files", "emit"),
    facts=when_called(f"{__name__}.emit.files", "facts"),
    last_step=when_called(f"{__name__}.emit.last_step", "last_step"),
    follows=when_called(f"{__name__}.followed", "needs"),
    brief={**QUIET, "save": False, "validation": None},
    first=('data = "c4"', "or a file or folder of rows with a `text`"),
    reads_data="rows",
    probed="0.2.2",
)

__all__ = ["BACKEND"]
