"""The processes of the probe: their groups, and what they tell each other."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import Any

#: A rank that answers nothing for so long is taken for dead.
PATIENCE_SECONDS = 180.0
#: How long rank 0 stays after the others have answered for the last time.
LINGER_SECONDS = 1.0


class Failed(Exception):
    """Ends the probe with one line for its user."""


class Ranks:
    """The processes of the probe: this one's number, and what they tell each other."""

    def __init__(self, torch: Any, device: str):
        self.torch, self.device = torch, device
        self.rank = int(os.environ.get("RANK", "0"))
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        self.local = int(os.environ.get("LOCAL_RANK", "0"))
        self.on_node = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        self.parent = os.getppid()
        self.groups: dict[tuple[int, int], Any] = {}
        if self.count > 1:
            backend = "nccl" if device == "cuda" else "gloo"
            patience = timedelta(seconds=PATIENCE_SECONDS)
            torch.distributed.init_process_group(backend, timeout=patience)

    def agree(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        if os.getppid() != self.parent:
            raise Failed("the process that started it has ended")
        if self.count == 1:
            return [value]
        found: list[Any] = [None] * self.count
        self.torch.distributed.all_gather_object(found, value)
        return found

    def group(self, size: int, stride: int) -> Any:
        """This rank's group of that shape; None for a rank that is left over. All ranks call it together."""
        if (size, stride) not in self.groups:
            span, own = size * stride, None
            for first in range(0, self.count - span + 1, span):
                for start in range(first, first + stride):
                    members = list(range(start, start + span, stride))
                    made = self.torch.distributed.new_group(members)
                    own = (made, members) if self.rank in members else own
            self.groups[size, stride] = own
        return self.groups[size, stride]

    def leave(self) -> None:
        """Rank 0, through which the others meet, goes last."""
        self.agree(None)
        if self.rank == 0 and self.count > 1:
            time.sleep(LINGER_SECONDS)

    def wait(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()
