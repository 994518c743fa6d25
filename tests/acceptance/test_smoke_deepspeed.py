"""DeepSpeed 0.19.8 trains, on gloo, what parc emits, and goes on where a killed run had saved."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from environments import cache_folder, environment
from smoking import LIMIT_SECONDS, Smokes, Wanted, check, check_recomputing, job_text

import parc
from parc.smoke import FRAMEWORKS, Prepared, Request, look_into, prepare
from parc.smoke.guard import MARK, marked
from parc.smoke.processes import Line
from parc.smoke.run import steps_of

HF = "model = hf"
CASES = {
    "zero_0": Wanted(
        "zero == 0, microbatches == 4",
        2,
        {"zero": 0, "dp_replicate": 2},
        options="accumulate = compute",
    ),
    "zero_1": Wanted("zero == 1, pp == 1, cp == 1", 2, {"zero": 1, "dp_shard": 2}),
    "zero_2": Wanted("zero == 2, cp == 1", 2, {"zero": 2, "dp_shard": 2}),
    "zero_3": Wanted("zero == 3, cp == 1, hpz == 1", 2, {"zero": 3, "dp_shard": 2}),
    "offloaded_states": Wanted(
        "zero == 2, cp == 1, offload == optimizer", 2, {"offload": "optimizer", "zero": 2}
    ),
    "offloaded_weights": Wanted("zero == 3, cp == 1, offload == all", 2, {"offload": "all"}),
    "pp": Wanted("pp == 4, zero == 1", 4, {"pp": 2, "dp_shard": 2, "zero": 1}),
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


#: Steps of a run, steps between two checkpoints, and the step after whose report it is killed.
STEPS, INTERVAL, KILLED = 12, 3, 7


@pytest.mark.parametrize("case", ["zero_1", "zero_3", "pp", "autotp_zero_1"])
def test_a_killed_run_goes_on_as_if_it_had_not_been(case: str, tmp_path: Path) -> None:
    whole = _losses(_started(_prepared(case, tmp_path / "whole")), None)
    killed = _prepared(case, tmp_path / "killed")
    first = _losses(_started(killed), KILLED)
    assert KILLED <= max(first) < STEPS
    second = _losses(_started(killed), None)
    saved = max(first) // INTERVAL * INTERVAL
    assert min(second) in (saved + 1, saved + 1 - INTERVAL) and max(second) == STEPS
    assert {**first, **second} == pytest.approx(whole, abs=2e-3)


def _prepared(case: str, folder: Path) -> Prepared:
    """The files of a shrunken job below `folder`."""
    folder.mkdir()
    job = folder.with_suffix(".par")
    job.write_text(job_text("deepspeed", CASES[case]))
    (plan,) = parc.compile(parc.load(job))
    interpreter = look_into(str(environment(NAME).python))
    assert not isinstance(interpreter, str), interpreter
    ready = prepare(plan, Request(interpreter, CASES[case].processes, STEPS), folder)
    assert ready is not None
    return ready


def _started(ready: Prepared) -> subprocess.Popen[str]:
    extensions = str(cache_folder() / "torch_extensions")
    marks = {MARK: ready.environment["TMPDIR"], "TORCH_EXTENSIONS_DIR": extensions}
    return subprocess.Popen(
        [*ready.command, f"--save-interval={INTERVAL}"],
        env={**ready.environment, **marks},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _losses(process: subprocess.Popen[str], last: int | None) -> dict[int, float]:
    """Losses by step until the run ends, or until every process of it is killed after step `last`."""
    seen: dict[int, float] = {}
    began, log = time.monotonic(), []
    assert process.stdout is not None
    for line in process.stdout:
        log.append(line)
        for step in steps_of([Line(0.0, line)], FRAMEWORKS["deepspeed"].step):
            seen[step.number] = step.loss
        if last is not None and seen and max(seen) >= last:
            _kill(process)
            break
        assert time.monotonic() - began < LIMIT_SECONDS, "".join(log[-30:])
    process.stdout.close()
    assert process.wait(30) == (0 if last is None else -signal.SIGKILL), "".join(log[-30:])
    return seen


def _kill(process: subprocess.Popen[str]) -> None:
    """kill -9 of the launcher, of torchrun and of every rank, which are sessions of their own."""
    mark = Path(f"/proc/{process.pid}/environ").read_bytes().split(f"{MARK}=".encode())[1]
    for member in marked(mark.split(b"\0")[0].decode()):
        os.kill(member, signal.SIGKILL)
