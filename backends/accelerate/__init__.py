"""TRL's trainer under accelerate: `Plan` -> accelerate.yaml, train.yaml, train.py and launch.sh, and back."""

from ..backend import Backend, when_called

BACKEND = Backend(
    __name__,
    emit=when_called(f"{__name__}.emit.files", "emit"),
    facts=when_called(f"{__name__}.emit.files", "facts"),
    last_step=when_called(f"{__name__}.emit.last_step", "last_step"),
    brief={"log_interval": 1, "save": None},
    first=('data = "/data/tokens.bin"', "a flat file of token ids"),
    reads_data="flat",
    for_tuning=True,
)

__all__ = ["BACKEND"]
