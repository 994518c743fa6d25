"""Megatron-LM: one bash script that starts torchrun with grouped, reasoned options."""

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
    brief={**QUIET, "save": False},
    stack=FACTS,
    first=('data = "/data/text_document"', "prefix of tokenised .bin and .idx files"),
)

__all__ = ["BACKEND"]
