"""What rows say that the cost model cannot express, one line each: counted in the report, since each is an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from setups import Setup


@dataclass(frozen=True)
class Limit:
    text: str
    holds: Callable[[Setup], bool]


def noted(pattern: str) -> Callable[[Setup], bool]:
    return lambda setup: re.search(pattern, setup.row.notes) is not None


def _uneven(setup: Setup) -> bool:
    row = setup.row
    return bool(row.layers and row.pp and row.layers % (row.pp * (row.vpp or 1)))


LIMITS = (
    Limit("tp > 1 without sequence parallelism (sp 0); priced with it",
          lambda setup: setup.row.sp == 0 and (setup.row.tp or 1) > 1),
    Limit("tp > 1, sequence parallelism not stated; priced with it",
          lambda setup: setup.row.sp is None and (setup.row.tp or 1) > 1),
    Limit("interleaving or stages that layers do not fill evenly", _uneven),
    Limit("ALiBi positions; priced without positions",
          lambda setup: setup.row.model.startswith(("MPT", "BLOOM"))),
    Limit("alternating sliding-window attention; priced without a window", noted("alternating sliding-window")),
    Limit("every second layer recomputed (selective layer); priced as full recompute of half", noted("selective layer")),
    Limit("8-bit optimizer state; priced as the target's", noted("8-bit")),
    Limit("gradients kept whole in fp32 beside sharded optimizer state (bf16 optimizer); priced as ZeRO 1", noted("fp32 gradient accumulation \\(not sharded")),
    Limit("activation checkpoints in host memory; priced on the GPU", noted("activation checkpoints kept in CPU")),
    Limit("communication overlap switched off; priced with it", noted("overlap features off|no overlap of gradient")),
    Limit("asynchronous tensor parallelism (AsyncTP)", noted("AsyncTP")),
    Limit("packed sequences of fine-tuning; priced as full sequences", noted("packed sequences|SFT run|pack_sample_into_one=True")),
    Limit("token dropping; priced with balanced routing", noted("tokendrop")),
    Limit("fp8 with finer scaling than per tensor; priced as fp8", noted("finer quantization")),
    Limit("mixed-precision mode PURE (16-bit state); priced with fp32 state", noted("mode PURE")),
    Limit("flash attention of an unstated generation; priced with the GPU's one efficiency",
          lambda setup: setup.row.attention == "flash"),
    Limit("optimizer or parameters in host memory", lambda setup: bool(setup.row.offload)),
)  # fmt: skip


def limits_of(setup: Setup) -> list[str]:
    return [limit.text for limit in LIMITS if limit.holds(setup)]
