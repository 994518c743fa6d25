"""DeepSpeed: `Plan` -> `ds_config.json`, `model.json`, `train.py` and `launch.sh`, and back."""

from ..backend import Backend
from .emit.files import ENTRY, emit, facts
from .read.files import read
from .read.log import read_log
from .smoke import SMOKE
from .target import TARGET

BACKEND = Backend(
    target=TARGET, emit=emit, read=read, facts=facts, entry=ENTRY, read_log=read_log, smoke=SMOKE
)

__all__ = ["BACKEND", "TARGET", "emit", "facts", "read"]
