"""Megatron-LM told to end saves and goes on as if it had not ended; killed, it goes on from its interval."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.support.megatron_runs import (
    SAME,
    TARGET,
    checkout,
    last_saved,
    started,
    trained,
)
from tests.acceptance.support.processes import started_by
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS
from tests.acceptance.support.stages import compiled

#: Steps of the job and of an interval, and steps after which runs are ended.
STEPS, INTERVAL, TOLD, KILLED = 24, 8, 5, 18
JOB = """
model tiny {{ layers = 2; hidden = 64; heads = 4; kv_heads = 2; ffn = 128; vocab = 256 }}
cluster pair from std.dgx_h100 {{ nodes = 1; gpus_per_node = 2; cpu_cores = 2 }}
train {{
  seq_len = 64; global_batch = 8; steps = 24; warmup = 2; learning_rate = 3e-3
  checkpoint_interval = 8; {saves}
}}
goal {{ require zero == 1; {conditions} }}
{target}
"""
SETTINGS = {
    "replicas": ("require dp == 2", "async_checkpoints = false"),
    "asynchronous": ("require dp == 2", "async_checkpoints = true"),
    "tensor": ("require tp == 2", "async_checkpoints = false"),
    "pipeline": ("require pp == 2; require vpp == 1", "async_checkpoints = false"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_told_to_end_and_killed_it_goes_on_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    """TERM reaches the script alone, as Kubernetes sends it, or in a pipeline each process, as `scancel`."""
    conditions, saves = SETTINGS[name]
    text = JOB.format(conditions=conditions, saves=saves, target=TARGET)
    script = compiled(text, tmp_path / "out")["one"].script
    for place in ("unbroken", "ended"):
        (tmp_path / place).mkdir()
    unbroken = trained(script, checkout(tmp_path / "unbroken"), tmp_path / "unbroken.log").losses
    assert list(unbroken) == list(range(1, STEPS + 1)) and unbroken[STEPS] < unbroken[1] - 1

    root = checkout(tmp_path / "ended")
    with started(script, root, tmp_path / "1.log") as (process, first):
        first.reached(TOLD)
        for number in [process.pid, *(started_by(process.pid) if name == "pipeline" else ())]:
            os.kill(number, signal.SIGTERM)
        assert process.wait(LIMIT_SECONDS) == 0, first.text[-4000:]
    told = last_saved(root)
    assert TOLD <= told < STEPS and max(first.losses) == told, first.text[-4000:]

    with started(script, root, tmp_path / "2.log") as (process, second):
        second.reached(KILLED)
        for number in [process.pid, *started_by(process.pid)]:
            os.kill(number, signal.SIGKILL)
        process.wait(LIMIT_SECONDS)
    killed = last_saved(root)
    # A process of its own may not have written it yet.
    saved = (INTERVAL, 2 * INTERVAL, *([told] if name == "asynchronous" else ()))
    assert killed in saved, second.text[-4000:]

    third = trained(script, root, tmp_path / "3.log").losses
    assert (min(second.losses), min(third), max(third)) == (told + 1, killed + 1, STEPS)
    for losses in (first.losses, second.losses, third):
        assert losses == pytest.approx({step: unbroken[step] for step in losses}, rel=SAME)
