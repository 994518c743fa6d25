"""Megatron-LM: one bash script that starts torchrun with grouped, reasoned options."""

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
    brief={**QUIET, "save": False},
    stack=FACTS,
    first=('data = "/data/text_document"', "prefix of tokenised .bin and .idx files"),
)

__all__ = ["BACKEND"]
