"""What rows say that the cost model cannot express, one line each: counted in the report, since
each is an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.accuracy.setups.setup import Setup


@dataclass(frozen=True)
class Limit:
    text: str
    holds: Callable[[Setup], bool]


def noted(pattern: str) -> Callable[[Setup], bool]:
    return lambda setup: re.search(pattern, setup.row.notes) is not None


def _tensor(setup: Setup) -> bool:
    return setup.row.sp is None and (setup.row.tp or 1) > 1


def _uneven(setup: Setup) -> bool:
    row = setup.row
    return bool(row.layers and row.pp and row.layers % (row.pp * (row.vpp or 1)))


def _alibi(setup: Setup) -> bool:
    return setup.row.model.startswith(("MPT", "BLOOM"))


def _flash(setup: Setup) -> bool:
    return setup.row.attention == "flash"


def _ragged(setup: Setup) -> bool:
    return setup.share < 1


def _offloaded(setup: Setup) -> bool:
    return bool(setup.row.offload)


LIMITS = (
    Limit("tp > 1, sequence parallelism not stated; priced with it", _tensor),
    Limit("layers do not fill the stages evenly; placed as the framework does", _uneven),
    Limit("ALiBi positions; priced without positions", _alibi),
    Limit("attention that alternates with a window; priced without", noted("alternating sliding")),
    Limit("every second layer recomputed; priced as half of them", noted("selective layer")),
    Limit("8-bit optimizer state; priced as the target's", noted("8-bit")),
    Limit(
        "overlap of communication switched off; priced with it",
        noted("overlap features off|no overlap of gradient"),
    ),
    Limit("asynchronous tensor parallelism; priced without", noted("AsyncTP")),
    Limit(
        "packed sequences; priced as full ones",
        noted("packed sequences|SFT run|pack_sample_into_one=True"),
    ),
    Limit("token dropping; priced with balanced routing", noted("tokendrop")),
    Limit("fp8 scaled more finely than per tensor; priced as fp8", noted("finer quantization")),
    Limit("gradients reduced in 16 bits (mode PURE); priced in fp32", noted("mode PURE")),
    Limit("generation of fused attention not stated; priced with the GPU's one rate", _flash),
    Limit("micro-batches that do not divide the batch; priced as rounded up", _ragged),
    Limit("state in host memory; priced with the target's offload", _offloaded),
)


def limits_of(setup: Setup) -> list[str]:
    return [limit.text for limit in LIMITS if limit.holds(setup)]
