"""Emitted files train with TRL under accelerate's FSDP2: the first loss is that of transformers, it falls,
what is saved is read by peft and transformers, a run that is told to end goes on as an unbroken one, and
frozen weights in 4 bits are divided as they are priced.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from parc.backends.accelerate.smoke import SMOKE
from parc.compiler.tuning.ledger import ledger
from parc.dsl import std_model
from parc.dsl.model import Model
from parc.dsl.tuning import Adapters
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
#: Of 16-bit weights and activations, and of the ends of sequences, as a share of the loss; of 4-bit weights.
TOLERANCE, PACKED_TOLERANCE = 2e-2, 4e-2
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
QLORA = LORA.replace("lora", "qlora")
FULL = "tune = full; learning_rate = 3e-3"
#: Processes, conditions on the layout, settings of `train`.
CASES: dict[str, tuple[int, str, str]] = {
    "adapters": (2, "require zero == 3; require recompute == full", LORA),
    "adapters of attention": (
        2,
        "require zero == 2; require recompute == none; require micro_batch == 2",
        f"{LORA}; adapter_targets = attention; adapter_dropout = 0.1",
    ),
    "4 bits": (2, "require zero == 3; require recompute == full", QLORA),
    "4 bits, one process": (1, "require micro_batch == 2", QLORA),
    "4 bits in copies": (
        4,
        "require zero == 2; require dp_replicate == 2; require recompute == none",
        f"{QLORA}; adapter_targets = attention; adapter_dropout = 0.1",
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


#: Prints the bytes of the parts of parameters that a rank has when the training ends: in 4 bits, in 16, in
#: fp32.
HELD = """    held = {"4": 0, "bfloat16": 0, "float32": 0}
    for weight in trainer.model.parameters():
        part = weight.to_local()
        # A packed matrix is one column.
        kind = "4" if part.ndim == 2 and part.shape[1] == 1 else str(part.dtype)[6:]
        held[kind] += part.numel() * part.element_size()
    print("held", json.dumps(held), flush=True)
"""


def with_census(files: Mapping[str, str]) -> dict[str, str]:
    """The files, of which train.py says what is held."""
    script, end = files["accelerate/train.py"], "    done = trainer.state"
    assert script.count(end) == 1
    return {**files, "accelerate/train.py": script.replace(end, HELD + end)}


@contextmanager
def started(text: str, folder: Path, log: Path) -> Iterator[Any]:
    """The emitted launch.sh of a job, which accelerate's stand-ins let train without a GPU."""
    folder.mkdir(exist_ok=True)
    made = compile_text(text, "tiny")
    assert made.plan is not None, made.complaints
    script = write(with_census(made.files), folder / "files") / "accelerate" / "launch.sh"
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
    packed = "qlora" in CASES[name][2]
    tolerance = PACKED_TOLERANCE if packed else TOLERANCE
    found = trained(job_text(name, place), tmp_path)
    assert list(found) == list(range(1, STEPS + 1))
    assert found[1] == pytest.approx(first, rel=tolerance)
    assert found[STEPS] < 0.95 * found[1]
    final = tmp_path / "run" / "checkpoints" / "final"
    if "lora" in CASES[name][2]:
        case = {"name": name, "sequence": SEQUENCE, "checkpoint": str(place / "checkpoint")}
        case |= {"tokens": str(place / "tokens.bin"), "adapter": str(final)}
        case |= {"four_bits": packed}
        (answer,) = probe(PACKAGES, "adapters_probe", [case], tmp_path)
        reached = answer["loss"]
    else:
        reached = loss_of(place, final, tmp_path)
    assert reached < found[STEPS] + tolerance * first
    if packed:
        assert_held_as_priced(name, tmp_path)


def assert_held_as_priced(name: str, folder: Path) -> None:
    """Bytes of a rank are those of the ledger over the ranks of a copy: all but the scales are divided. And
    a checkpoint has no frozen weights."""
    gpus, conditions, settings = CASES[name]
    targets: Any = "attention" if "attention" in settings else "linear"
    sheet = ledger(model_of(), "qlora", Adapters(rank=8, targets=targets))
    ranks = gpus // 2 if "dp_replicate == 2" in conditions else gpus
    (said,) = re.findall(r"held (\{.*\})", (folder / "log").read_text())
    held = json.loads(said)
    assert held["4"] * ranks == sheet.quantized_parameters // 2
    assert held["bfloat16"] * ranks == sheet.frozen_bytes
    assert held["float32"] * ranks == sheet.trained_bytes
    saved = folder / "run" / "checkpoints" / f"checkpoint-{STEPS}" / "pytorch_model_fsdp_0"
    names = (saved / ".metadata").read_bytes()
    assert b"lora_A" in names and b"embed_tokens" not in names and b"base_layer" not in names


def model_of() -> Model:
    return std_model(FAMILY).model_copy(update=FAMILIES[FAMILY])


@pytest.mark.parametrize("name", ["adapters", "4 bits"])
def test_told_to_end_it_saves_and_goes_on(
    name: str, checkpoint: tuple[Path, float], tmp_path: Path
) -> None:
    """TERM to the script after a few steps, then the same start again: the losses of an unbroken run."""
    place, _ = checkpoint
    text = job_text(name, place)
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
