"""Emitted files train with TRL under accelerate's FSDP2: the first loss is that of transformers, it falls,
what is saved is read by peft and transformers, and a run that is told to end goes on as an unbroken one.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from parc.backends.accelerate.smoke import SMOKE
from parc.smoke.processes import Line
from parc.smoke.smoke_run import steps_of
from tests.acceptance.support.environments import TREE, environment
from tests.acceptance.support.generated_jobs import compile_text
from tests.acceptance.support.hugging_face import FAMILIES, SEQUENCE, references
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.support.slurm_tools import free_ports
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS

PACKAGES = "accelerate"
FAMILY = "llama3_1_8b"
STEPS, SEQUENCES = 20, 8
#: Of 16-bit weights and activations, and of the ends of sequences, as a share of the loss.
TOLERANCE = 2e-2
JOB = """
model tiny from std.{family} {{ {sizes} }}
cluster pair from std.dgx_h100 {{ nodes = 1; gpus_per_node = {gpus}; cpu_cores = 2 }}
train {{
  seq_len = {sequence}; global_batch = {batch}; steps = {steps}; warmup = 0
  weights = "{folder}/checkpoint"; {settings}
}}
goal {{ {conditions} }}
target accelerate {{ log_interval = 1; data = "{folder}/tokens.bin" }}
"""
LORA = "tune = lora; adapter_rank = 8; learning_rate = 1e-2"
FULL = "tune = full; learning_rate = 3e-3"
#: Processes, conditions on the layout, settings of `train`.
CASES: dict[str, tuple[int, str, str]] = {
    "adapters": (2, "require zero == 3; require recompute == full", LORA),
    "adapters of attention": (
        2,
        "require zero == 2; require recompute == none; require micro_batch == 2",
        f"{LORA}; adapter_targets = attention; adapter_dropout = 0.1",
    ),
    "all weights": (2, "require zero == 2; require micro_batch == 1", FULL),
    "copies": (4, "require zero == 3; require dp_replicate == 2", FULL),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A folder with a checkpoint and tokens, and the loss that transformers has on them."""
    folder = tmp_path_factory.mktemp("tuned")
    place = Path(references([FAMILY], folder)[FAMILY]["folder"])
    ids = [index * index % 127 for index in range(SEQUENCES * SEQUENCE + 1)]
    (place / "tokens.bin").write_bytes(b"".join(each.to_bytes(2, "little") for each in ids))
    return place, loss_of(place, place / "checkpoint", folder)


def loss_of(place: Path, model: Path, folder: Path) -> float:
    """The loss of transformers on the tokens."""
    case = {"name": FAMILY, "sequence": SEQUENCE, "checkpoint": str(model)}
    case["tokens"] = str(place / "tokens.bin")
    (answer,) = probe(PACKAGES, "deepspeed_loss_probe", [case], folder)
    loss: float = answer["loss"]
    return loss


def job_text(name: str, place: Path, more: str = "") -> str:
    gpus, conditions, settings = CASES[name]
    return JOB.format(
        family=FAMILY,
        sizes="; ".join(f"{key} = {value}" for key, value in FAMILIES[FAMILY].items()),
        gpus=gpus,
        sequence=SEQUENCE,
        batch=SEQUENCES,
        steps=STEPS,
        folder=place,
        conditions=conditions,
        settings=settings + more,
    )


@contextmanager
def started(text: str, folder: Path, log: Path) -> Iterator[Any]:
    """The emitted launch.sh of a job, which accelerate's stand-ins let train without a GPU."""
    folder.mkdir(exist_ok=True)
    made = compile_text(text, "tiny")
    assert made.plan is not None, made.complaints
    script = write(made.files, folder / "files") / "accelerate" / "launch.sh"
    (port,) = free_ports(1)
    stand_ins = (f"{name}={path}" for name, path in SMOKE.stand_ins.items())
    place = {
        "MASTER_PORT": str(port),
        "RUN_DIR": str(folder / "run"),
        "PYTHONPATH": str(TREE / "smoke" / "on_cpu"),
        "PARC_SMOKE_STAND_INS": ":".join(stand_ins),
        "ACCELERATE_USE_CPU": "1",
    }
    run = start(["bash", str(script)], log, environment(PACKAGES).variables(**place))
    try:
        yield run
    finally:
        stop(run)


def trained(text: str, folder: Path, name: str = "log") -> dict[int, float]:
    """The loss of each step of a start that runs to its end."""
    log = folder / name
    with started(text, folder, log) as run:
        status = run.wait(LIMIT_SECONDS)
    assert status == 0, log.read_text()[-4000:]
    return losses(log)


def losses(log: Path) -> dict[int, float]:
    lines = (Line(0.0, line) for line in log.read_text().splitlines())
    return {step.number: step.loss for step in steps_of(lines, SMOKE.step)}


@pytest.mark.parametrize("name", CASES)
def test_it_trains_and_what_it_saves_is_read(
    name: str, checkpoint: tuple[Path, float], tmp_path: Path
) -> None:
    place, first = checkpoint
    found = trained(job_text(name, place), tmp_path)
    assert list(found) == list(range(1, STEPS + 1))
    assert found[1] == pytest.approx(first, rel=TOLERANCE)
    assert found[STEPS] < 0.95 * found[1]
    final = tmp_path / "run" / "checkpoints" / "final"
    if "lora" in CASES[name][2]:
        case = {"name": name, "sequence": SEQUENCE, "checkpoint": str(place / "checkpoint")}
        case |= {"tokens": str(place / "tokens.bin"), "adapter": str(final)}
        (answer,) = probe(PACKAGES, "adapters_probe", [case], tmp_path)
        reached = answer["loss"]
    else:
        reached = loss_of(place, final, tmp_path)
    assert reached < found[STEPS] + TOLERANCE * first


def test_told_to_end_it_saves_and_goes_on(checkpoint: tuple[Path, float], tmp_path: Path) -> None:
    """TERM to the script after a few steps, then the same start again: the losses of an unbroken run."""
    place, _ = checkpoint
    text = job_text("adapters", place)
    whole = trained(text, tmp_path / "whole")
    log = tmp_path / "first"
    with started(text, tmp_path, log) as run:
        until = time.monotonic() + LIMIT_SECONDS
        while not re.search(r"step 3 of", log.read_text()) and time.monotonic() < until:
            time.sleep(0.2)
        run.send_signal(signal.SIGTERM)
        assert run.wait(LIMIT_SECONDS) == 0, log.read_text()[-4000:]
    told = losses(log)
    last = max(told)
    assert 3 <= last < STEPS
    assert not (tmp_path / "run" / "checkpoints" / "final").exists()
    rest = trained(text, tmp_path, "second")
    assert list(rest) == list(range(last + 1, STEPS + 1))
    for step, loss in {**told, **rest}.items():
        assert loss == pytest.approx(whole[step], abs=2e-3), step
