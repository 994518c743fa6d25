"""What the frameworks' own layers take of this CPU is of the size that is priced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from tests.acceptance.support.environments import environment
from tests.acceptance.support.probe_runs import PROBES
from tests.acceptance.support.processes import start, stop

LIMIT_SECONDS = 900
ENVIRONMENTS = {"megatron": "megatron", "torchtitan": "torchtitan-0.2.2"}
#: Forward once, backward twice, two half-layers each.
UNITS = 6
#: Shares of what is priced that a layer may take: launches are not in it, and one CPU, or one that others
#: load, takes several times as long as another.
LEAST, MOST = 1 / 6, 3.0


@pytest.mark.parametrize("framework", ENVIRONMENTS)
def test_a_layer_takes_the_host_about_as_long_as_priced(framework: str, tmp_path: Path) -> None:
    made, answer = environment(ENVIRONMENTS[framework]), tmp_path / "answer.json"
    command = [str(made.python), str(PROBES / "host_probe.py"), framework, str(answer)]
    process = start(command, tmp_path / "log", made.variables())
    try:
        assert process.wait(LIMIT_SECONDS) == 0, (tmp_path / "log").read_text()[-4000:]
    finally:
        stop(process)
    seconds = json.loads(answer.read_text())
    print(
        f"{framework}: forward {1e3 * seconds['forward']:.2f} ms, backward {1e3 * seconds['backward']:.2f} ms"
    )
    priced = BACKENDS[framework].target.traits.host.host_seconds
    assert LEAST * priced < sum(seconds.values()) / UNITS < MOST * priced
