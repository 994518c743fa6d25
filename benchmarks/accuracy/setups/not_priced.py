"""Statements of rows that the cost model cannot express, one line each: counted in the report, since
each is an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.accuracy.setups.setup import Setup


@dataclass(frozen=True)
class Limit:
    text: str
    holds: Callable[[Setup], bool]


def _tensor(setup: Setup) -> bool:
    return setup.row.sp is None and (setup.row.tp or 1) > 1


def _uneven(setup: Setup) -> bool:
    row = setup.row
    return bool(row.layers and row.pp and row.layers % (row.pp * (row.vpp or 1)))


def _alibi(setup: Setup) -> bool:
    return setup.row.position == "alibi"


def _layers(setup: Setup) -> bool:
    return bool(setup.row.recompute_layers)


def _dropping(setup: Setup) -> bool:
    return bool(setup.row.token_drop)


def _ragged(setup: Setup) -> bool:
    return setup.share < 1


def _offloaded(setup: Setup) -> bool:
    return bool(setup.row.offload)


LIMITS = (
    Limit("tp > 1, sequence parallelism not stated; priced with it", _tensor),
    Limit("layers do not fill the stages evenly; placed as the framework does", _uneven),
    Limit("ALiBi positions; priced without positions", _alibi),
    Limit("a share of the layers recomputed; priced as so many of each stage's first", _layers),
    Limit("token dropping; priced with balanced routing", _dropping),
    Limit("micro-batches that do not divide the batch; priced as rounded up", _ragged),
    Limit("state in host memory; priced with the target's offload", _offloaded),
)


def limits_of(setup: Setup) -> list[str]:
    return [limit.text for limit in LIMITS if limit.holds(setup)]
