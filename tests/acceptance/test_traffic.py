"""What emitted scripts send, by the frameworks' own calls, is what the cost model says that they send."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from parc.compiler.model.parameters import total
from parc.compiler.plan import Plan
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS, Wanted, extensions, prepared

RECORDER = Path(__file__).with_name("recorder")
STEPS, RANKS = 3, 2
#: Of what is sent, what may be padding, norms and losses, and what may stay on a rank for its second use.
LITTLE, KEPT = 0.01, 0.1


ENVIRONMENTS = {"deepspeed": "deepspeed", "torchtitan": "torchtitan-0.2.2"}
LAYOUTS = {
    "deepspeed": "pp == 1, cp == 1, hpz == 1, offload == none, recompute == none, risk <= 20%",
    "torchtitan": "dp_shard == 8, tp == 1",
}
CASES = [
    *(("deepspeed", zero) for zero in (0, 1, 2, 3)),
    *(("torchtitan", zero) for zero in (2, 3)),
]


def sent(target: str, zero: int, folder: Path) -> tuple[Plan, Counter[str]]:
    """A shrunken plan at a ZeRO stage, and the elements of its first rank's collectives in `STEPS` steps."""
    options = "accumulate = compute" if (target, zero) == ("deepspeed", 0) else ""
    wanted = Wanted(f"zero == {zero}, {LAYOUTS[target]}", RANKS, {}, options=options)
    ready = prepared(target, wanted, ENVIRONMENTS[target], folder / "run", STEPS)
    search = (str(RECORDER), ready.environment.get("PYTHONPATH"))
    variables = {
        **ready.environment,
        **extensions(),
        "PYTHONPATH": os.pathsep.join(place for place in search if place),
        "TRAFFIC_LOG": str(folder / "traffic"),
    }
    log = folder / "log"
    process = start(ready.command, log, variables)
    try:
        assert process.wait(LIMIT_SECONDS) == 0, log.read_text()[-4000:]
    finally:
        stop(process)
    return ready.plan, Counter(json.loads((folder / "traffic.0").read_text()))


@pytest.mark.parametrize(("target", "zero"), CASES)
def test_gradients_and_weights_travel_as_priced(target: str, zero: int, tmp_path: Path) -> None:
    """As often, as whole and in as many bits."""
    plan, elements = sent(target, zero, tmp_path)
    traits, each = BACKENDS[target].target.traits, total(plan.job.model)
    microbatches = STEPS * plan.layout.microbatches
    reduced = each * (microbatches if traits.wire.reduces_each(zero) else STEPS)
    whole = zero == 0 or traits.wire.all_reduces(zero)
    gathered = each * (traits.wire.gathers(zero) * microbatches or STEPS * (zero > 0))
    kind = {2.0: "bfloat16", 4.0: "float32"}[traits.wire.reduce_bytes]
    little = LITTLE * reduced
    assert elements.pop(f"all_reduce {kind}", 0) == pytest.approx(reduced * whole, abs=little)
    scattered = elements.pop(f"reduce_scatter {kind}", 0)
    assert scattered == pytest.approx(reduced * (not whole), abs=little)
    brought = elements.pop("all_gather bfloat16", 0)
    assert (1 - KEPT) * gathered <= brought <= (1 + LITTLE) * gathered
    # At the start every rank takes the first one's weights.
    rest = [name for name in elements if elements[name] > little and "broadcast" not in name]
    assert not rest
