"""DeepSpeed: `Plan` -> `ds_config.json`, `model.json`, `train.py` and `launch.sh`, and back."""

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
    brief={**QUIET, "save": None, "valid_data": None},
    stack=FACTS,
    first=('data = "/data/tokens.bin"', "a flat file of token ids"),
)

__all__ = ["BACKEND"]
