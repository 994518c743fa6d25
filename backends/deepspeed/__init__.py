"""DeepSpeed: `Plan` -> `ds_config.json`, `model.json`, `train.py` and `launch.sh`, and back."""

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
    brief={**QUIET, "save": None, "valid_data": None},
    stack=FACTS,
    first=('data = "/data/tokens.bin"', "a flat file of token ids"),
)

__all__ = ["BACKEND"]
