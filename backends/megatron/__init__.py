"""Megatron-LM: one bash script that starts torchrun with grouped, reasoned options."""

from ..backend import Backend, when_called
from ..observation import QUIET

BACKEND = Backend(
    __name__,
    emit=when_called(f"{__name__}.emit.files", "emit"),
    facts=when_called(f"{__name__}.emit.files", "facts"),
    last_step=when_called(f"{__name__}.emit.last_step", "last_step"),
    brief={**QUIET, "save": False},
    follows=when_called(f"{__name__}.followed", "needs"),
    first=('data = "/data/text_document"', "prefix of tokenised .bin and .idx files"),
    reads_data="indexed",
)

__all__ = ["BACKEND"]
