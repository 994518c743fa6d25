"""DeepSpeed: `Plan` -> `ds_config.json`, `model.json`, `train.py` and `launch.sh`, and back."""

from ..backend import Backend, when_called
from ..observation import QUIET

BACKEND = Backend(
    __name__,
    emit=when_called(f"{__name__}.emit.files", "emit"),
    facts=when_called(f"{__name__}.emit.files", "facts"),
    last_step=when_called(f"{__name__}.emit.last_step", "last_step"),
    brief={**QUIET, "save": None, "valid_data": None},
    follows=when_called(f"{__name__}.followed", "needs"),
    first=('data = "/data/tokens.bin"', "a flat file of token ids"),
    reads_data="flat",
)

__all__ = ["BACKEND"]
