"""Megatron-LM: one bash script that starts torchrun with grouped, reasoned options."""

from __future__ import annotations

from ..backend import Backend
from .emit.files import ENTRY, emit
from .read.files import facts, read
from .read.log import read_log
from .smoke import SMOKE
from .target import TARGET

BACKEND = Backend(
    target=TARGET, emit=emit, read=read, facts=facts, entry=ENTRY, read_log=read_log, smoke=SMOKE
)

__all__ = ["BACKEND"]
