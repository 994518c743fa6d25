"""The order in which the simulator runs passes is torch's own, rank by rank."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence

from parc.compiler.schedule.orders import ORDERS, V_SHAPED
from tests.acceptance.support.environments import BASE, environment
from tests.acceptance.support.probe_runs import PROBES

#: What torch calls an order with one chunk a rank, and with more; None where it has none.
NAMES: dict[str, tuple[str | None, str]] = {
    "1f1b": ("1F1B", "Interleaved1F1B"),
    "gpipe": ("GPipe", "LoopedBFS"),
    "interleaved_zb": (None, "InterleavedZeroBubble"),
    "zbv": (None, "ZBVZeroBubble"),
    "dualpipev": (None, "DualPipeV"),
}
#: pp, vpp, micro-batches.
DRAWN = [
    (pp, vpp, microbatches)
    for pp in (2, 3, 4, 5, 8)
    for vpp in (1, 2, 3)
    for microbatches in (1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 17, 20)
]


def test_each_rank_runs_its_passes_in_torchs_order() -> None:
    drawn = [(name, *each) for name in ORDERS for each in DRAWN if runs(name, *each)]
    assert len({name for name, *_ in drawn}) == len(ORDERS)
    cases = [
        {"schedule": NAMES[name][vpp > 1], "pp": pp, "vpp": vpp, "microbatches": microbatches}
        for name, pp, vpp, microbatches in drawn
    ]
    for (name, pp, vpp, microbatches), found in zip(drawn, torchs(cases), strict=True):
        # torch's listing of 1F1B, which no run reads, begins the last rank with micro-batch 1.
        ranks = pp - 1 if NAMES[name][vpp > 1] == "1F1B" else pp
        for rank in range(ranks):
            ours = [list(each) for each in ORDERS[name](pp, vpp, microbatches, rank)]
            assert ours == found[rank], (name, pp, vpp, microbatches, rank)


def runs(name: str, pp: int, vpp: int, microbatches: int) -> bool:
    """Whether torch makes a schedule of these numbers."""
    if NAMES[name][vpp > 1] is None or (name in V_SHAPED and vpp != 2):
        return False
    if name == "dualpipev":
        return microbatches >= 2 * pp
    if vpp == 1:
        return name != "1f1b" or microbatches >= pp
    return name in ("gpipe", "zbv") or microbatches % max(1, microbatches // pp) == 0


def torchs(cases: Sequence[Mapping[str, object]]) -> list[list[list[list[int]]]]:
    made = environment(BASE)
    done = subprocess.run(
        [str(made.python), str(PROBES / "pipeline_order_probe.py")],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
        env=made.variables(),
    )
    answer: list[list[list[list[int]]]] = json.loads(done.stdout)
    return answer
