"""Configurations -> what DeepSpeed's own reader says of each, as JSON: nothing, or its complaint.

python deepspeed_extra_probe.py CONFIGS.json OUT.json
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from typing import Any

os.environ.update(DS_ACCELERATOR="cpu", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")

import torch
from deepspeed.runtime.config import DeepSpeedConfig
from torch.testing._internal.distributed.fake_pg import FakeStore


def complaint(config: dict[str, Any]) -> str:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            DeepSpeedConfig(config)
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    return ""


if __name__ == "__main__":
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
    with open(sys.argv[1]) as configs:
        found = [complaint(config) for config in json.load(configs)]
    with open(sys.argv[2], "w") as out:
        json.dump(found, out)
