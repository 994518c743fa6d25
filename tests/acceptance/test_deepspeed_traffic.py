"""What the emitted script sends, by DeepSpeed's own calls, is what the cost model says that it sends."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from environments import cache_folder, environment
from processes import start, stop
from smoking import LIMIT_SECONDS, Wanted, job_text

import parc
from parc.backends.deepspeed import TARGET
from parc.compiler.parameters import total
from parc.compiler.plan import Plan
from parc.smoke import Request, look_into, prepare

NAME = "deepspeed"
RECORDER = Path(__file__).with_name("recorder")
STEPS, RANKS = 3, 2
#: Collectives by which gradients and weights travel.
TRAVELS = ("all_reduce", "reduce_scatter_tensor", "all_gather_into_tensor")


def sent(zero: int, folder: Path) -> tuple[Plan, Counter[str]]:
    """A shrunken plan at a ZeRO stage, and the elements of its first rank's collectives in `STEPS` steps."""
    options = "accumulate = compute" if zero == 0 else ""
    rules = f"zero == {zero}, pp == 1, cp == 1, hpz == 1, offload == none, recompute == none"
    job = folder / "job.par"
    job.write_text(job_text(NAME, Wanted(rules, RANKS, {}, options=options)))
    (plan,) = parc.compile(parc.load(job))
    interpreter = look_into(str(environment(NAME).python))
    assert not isinstance(interpreter, str), interpreter
    ready = prepare(plan, Request(interpreter, RANKS, STEPS), folder / "run")
    assert ready is not None
    variables = {
        **ready.environment,
        "PYTHONPATH": str(RECORDER),
        "TRAFFIC_LOG": str(folder / "traffic"),
        "TORCH_EXTENSIONS_DIR": str(cache_folder() / "torch_extensions"),
    }
    log = folder / "log"
    process = start(ready.command, log, variables)
    try:
        assert process.wait(LIMIT_SECONDS) == 0, log.read_text()[-4000:]
    finally:
        stop(process)
    return ready.plan, Counter(json.loads((folder / "traffic.0").read_text()))


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_gradients_and_weights_travel_as_priced(zero: int, tmp_path: Path) -> None:
    """In 16 bits, within the few elements that are padding or norms; of ZeRO 3 some weights stay for their
    second use."""
    plan, elements = sent(zero, tmp_path)
    traits, each = TARGET.traits, total(plan.job.model)
    microbatches = STEPS * plan.layout.microbatches
    reduced = each * (microbatches if traits.reduces_each(zero) else STEPS)
    whole = zero == 0 or traits.all_reduces(zero)
    gathered = each * (traits.gathers(zero) * microbatches or STEPS * (zero > 0))
    seen = {name: elements.pop(f"{name} bfloat16", 0) for name in TRAVELS}
    assert traits.reduce_bytes == 2.0
    assert seen["all_reduce"] == pytest.approx(reduced * whole, rel=0.01)
    assert seen["reduce_scatter_tensor"] == pytest.approx(reduced * (not whole), rel=0.01)
    assert 0.9 * gathered <= seen["all_gather_into_tensor"] <= 1.01 * gathered
    assert not [name for name in elements if name.endswith("bfloat16")]
