"""DeepSpeed 0.19.8 trains, on gloo, what parc emits, and goes on where a killed run had saved."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from parc.backends.deepspeed.smoke import SMOKE
from parc.smoke import Prepared
from parc.smoke.guard import MARK, end
from parc.smoke.processes import Line
from parc.smoke.smoke_run import steps_of
from tests.acceptance.support.deepspeed_runs import losses
from tests.acceptance.support.environments import environment
from tests.acceptance.support.feature_table import RESULTS, Ran
from tests.acceptance.support.generated_jobs import compile_text
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.support.slurm_tools import free_ports
from tests.acceptance.support.smoke_runs import (
    LIMIT_SECONDS,
    Smokes,
    Wanted,
    check,
    check_recomputing,
    extensions,
    prepared,
)

HF = "model = hf"
ODD = "model odd from std.llama3_8b { layers = 9; vocab = 50257 }"
CASES = {
    "zero_0": Wanted(
        "zero == 0, microbatches == 4",
        2,
        {"zero": 0, "dp_replicate": 2},
        model="model decoder from std.llama3_8b { layers = 4 }",
        options="accumulate = compute",
    ),
    "zero_1": Wanted("zero == 1, pp == 1, cp == 1", 2, {"zero": 1, "dp_shard": 2}),
    "zero_2": Wanted("zero == 2, cp == 1", 2, {"zero": 2, "dp_shard": 2}),
    "zero_3": Wanted("zero == 3, cp == 1, hpz == 1", 2, {"zero": 3, "dp_shard": 2}),
    "offloaded_states": Wanted(
        "zero == 2, cp == 1, offload == optimizer", 2, {"offload": "optimizer", "zero": 2}
    ),
    "offloaded_weights": Wanted("zero == 3, cp == 1, offload == all", 2, {"offload": "all"}),
    "pp": Wanted("pp == 4, zero == 1", 4, {"pp": 2, "dp_shard": 2, "zero": 1}, ODD),
    "llama": Wanted(
        "tp == 1, zero == 3, offload == none", 2, {"tp": 1, "zero": 3, "dp_shard": 2}, options=HF
    ),
    **{
        f"autotp_zero_{zero}": Wanted(
            f"tp == 2, zero == {zero}", 4, {"tp": 2, "zero": zero, "dp_shard": 2}, options=HF
        )
        for zero in (1, 2, 3)
    },
    "ulysses": Wanted("cp == 2, zero == 3", 4, {"cp": 2, "dp_shard": 2, "zero": 3}),
}
TARGET = NAME = "deepspeed"


@pytest.mark.parametrize("case", CASES)
def test_layouts_train(case: str, smokes: Smokes, request: pytest.FixtureRequest) -> None:
    check(smokes[request.node.nodeid], CASES[case])


def test_recomputing_changes_no_loss(smokes: Smokes) -> None:
    check_recomputing(smokes, TARGET, NAME, "zero == 2, cp == 1, micro_batch == 1")


#: Two nodes of two processes, on this host.
NODES = """
model tiny {{ layers = 2; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster pair from std.dgx_h100 {{ nodes = 2; gpus_per_node = 2; cpu_cores = 2 }}
train {{ seq_len = 128; global_batch = 4; steps = {steps}; warmup = 0; learning_rate = 1e-3 }}
goal {{ require zero == 3; require hpz == 2 }}
target deepspeed {{ adam = "torch"; data = synthetic; log_interval = 1 }}
"""


def test_a_secondary_partition_trains_over_two_nodes(tmp_path: Path) -> None:
    """What `parc smoke` cannot keep: it runs on one node."""
    made = compile_text(NODES.format(steps=8), "tiny")
    assert made.plan is not None and made.plan.layout.hpz == 2, made.complaints
    script = write(made.files, tmp_path) / "deepspeed" / "launch.sh"
    (port,) = free_ports(1)
    nodes = []
    for rank in ("0", "1"):
        place = {"NNODES": "2", "NODE_RANK": rank, "RUN_DIR": str(tmp_path / "run")}
        place |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        variables = environment(NAME).variables(**place, SAVE=str(tmp_path / "checkpoints"))
        nodes.append(start(["bash", str(script)], tmp_path / f"{rank}.log", variables))
    try:
        statuses = [node.wait(LIMIT_SECONDS) for node in nodes]
    finally:
        for node in nodes:
            stop(node)
    log = (tmp_path / "0.log").read_text()
    found = losses(log)
    assert statuses == [0, 0] and len(found) == 8, log[-4000:]
    assert sum(found[4:]) / 4 < found[0]
    RESULTS.train(NAME, Ran.of(made.plan))


#: Steps of a run, steps between two checkpoints, and the step after whose report it is killed.
STEPS, INTERVAL, KILLED = 12, 3, 7


@pytest.mark.parametrize("case", ["zero_1", "zero_3", "pp", "autotp_zero_1"])
def test_a_killed_run_goes_on_as_if_it_had_not_been(case: str, tmp_path: Path) -> None:
    def of(folder: Path) -> Prepared:
        return prepared(TARGET, CASES[case], NAME, folder, STEPS)

    whole = _losses(of(tmp_path / "whole"), None)
    killed = of(tmp_path / "killed")
    first = _losses(killed, KILLED)
    assert KILLED <= max(first) < STEPS, "it had ended before it was killed"
    second = _losses(killed, None)
    saved = max(first) // INTERVAL * INTERVAL
    assert min(second) in (saved + 1, saved + 1 - INTERVAL) and max(second) == STEPS
    assert {**first, **second} == pytest.approx(whole, abs=2e-3)


@pytest.mark.parametrize("case", ["zero_1", "pp"])
def test_a_run_that_is_told_to_end_goes_on_at_the_next_step(case: str, tmp_path: Path) -> None:
    whole = _losses(prepared(TARGET, CASES[case], NAME, tmp_path / "whole", STEPS), None)
    told = prepared(TARGET, CASES[case], NAME, tmp_path / "told", STEPS)
    first = _losses(told, KILLED, signal.SIGTERM)
    assert KILLED <= max(first) < STEPS, "it had ended before it was told"
    second = _losses(told, None)
    assert sorted(second) == list(range(max(first) + 1, STEPS + 1))
    assert {**first, **second} == pytest.approx(whole, abs=2e-3)


def _mark(ready: Prepared) -> str:
    return ready.environment["TMPDIR"]


def _started(ready: Prepared) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*ready.command, f"--save-interval={INTERVAL}"],
        env={**ready.environment, **extensions(), MARK: _mark(ready)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _losses(
    ready: Prepared, last: int | None, ending: signal.Signals = signal.SIGKILL
) -> dict[int, float]:
    """Losses by step of a run until it ends, or until all of it is killed after step `last`, or its launcher
    is told to end."""
    seen: dict[int, float] = {}
    began, log = time.monotonic(), []
    process, ended = _started(ready), False
    assert process.stdout is not None
    for line in process.stdout:
        log.append(line)
        for step in steps_of([Line(0.0, line)], SMOKE.step):
            seen[step.number] = step.loss
        if last is not None and seen and max(seen) >= last and not ended:
            # The launcher, torchrun and the ranks, which are sessions of their own. What they said before
            # is still to be read.
            if ending == signal.SIGKILL:
                end(_mark(ready))
            else:
                process.send_signal(ending)
            ended = True
        assert time.monotonic() - began < LIMIT_SECONDS, "".join(log[-30:])
    process.stdout.close()
    killed = ended and ending == signal.SIGKILL
    assert process.wait(120) == (-signal.SIGKILL if killed else 0), "".join(log[-30:])
    return seen
