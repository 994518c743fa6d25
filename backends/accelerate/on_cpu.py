"""Replacements with which accelerate 1.15 divides a model over CPUs: in memory, no file is edited.

`stand_ins` surrounds the import of accelerate, which knows FSDP for processes with a GPU each alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def stand_ins() -> Iterator[None]:
    yield
    if os.environ.get("ACCELERATE_USE_CPU"):
        divides_over_cpus(import_module("accelerate.state"))


def divides_over_cpus(state: Any) -> None:
    """AcceleratorState takes FSDP as it does where the processes have GPUs (state.py:1010)."""
    begin = state.AcceleratorState.__init__

    def begun(self: Any, *given: Any, fsdp_plugin: Any = None, **named: Any) -> None:
        begin(self, *given, fsdp_plugin=fsdp_plugin, **named)
        kinds = state.DistributedType
        if fsdp_plugin is None or self.distributed_type != kinds.MULTI_CPU:
            return
        self.distributed_type = kinds.FSDP
        state.PartialState._shared_state["distributed_type"] = kinds.FSDP
        if self._mixed_precision != "no":
            fsdp_plugin.set_mixed_precision(self._mixed_precision)
        self.fsdp_plugin = fsdp_plugin

    state.AcceleratorState.__init__ = begun
