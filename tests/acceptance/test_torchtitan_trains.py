"""torchtitan trains what was asked: from Hugging Face's weights, alike in all layouts, at the asked rates."""

from __future__ import annotations

import math
import re
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from parc.backends import BACKENDS
from parc.backends.torchtitan.emit.sections import SCHEDULES as SCHEDULE_NAMES
from parc.backends.torchtitan.options import Options
from parc.backends.torchtitan.smoke import ON_CPU
from parc.compiler.plan import PASSES, Layout, Plan
from parc.dsl.job import Train
from parc.dsl.settings import Data
from parc.smoke.processes import free_port
from parc.smoke.smoke_run import on_cpu
from tests.acceptance.support.environments import environment
from tests.acceptance.support.hugging_face import references, tiny
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.recorded_launches import capability, recorded, write
from tests.acceptance.test_torchtitan_accepts import assets
from tests.support.sample_plans import sample_plan, train_of

BACKEND = BACKENDS["torchtitan"]
Version = Literal["0.2.0", "0.2.2", "0.3"]
ENVIRONMENTS: dict[Version, str] = {
    "0.2.0": "torchtitan-0.2.0",
    "0.2.2": "torchtitan-0.2.2",
    "0.3": "torchtitan-0.3.0",
}
STEPS, BATCH, SEQUENCE, SEED = 20, 8, 64, 77
#: torchtitan prints five digits of a loss and four of a norm. Sums are in another order in other layouts.
LOSS, NORM = 2e-4, 2e-3
#: Before 0.3 grouped products are in bf16 whatever was asked (0.2.2's models/moe/moe.py:123). Families other
#: than these leave them to GPUs (models/deepseek_v3/model/args.py:95).
BF16_EXPERTS = ("qwen3_30b_a3b",)
LIMIT_SECONDS = 600
STEP = re.compile(r"step: +(\d+) +loss: +([\d.]+) +grad_norm: +([\d.]+)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ALONE = Layout(dp_shard=2, zero=3, microbatches=4)
PIPELINE = Layout(pp=2, dp_shard=2, zero=1, microbatches=4)


@dataclass(frozen=True)
class Run:
    """One run of emitted files: its log, and loss and gradient norm of each step."""

    log: str

    @property
    def steps(self) -> list[tuple[float, float]]:
        found = {int(step): (loss, norm) for step, loss, norm in STEP.findall(self.log)}
        return [(float(loss), float(norm)) for _, (loss, norm) in sorted(found.items())]


def plan_of(
    version: Version,
    family: str,
    layout: Layout,
    checkpoint: Path | None = None,
    interval: int = 1000,
    **more: Any,
) -> Plan:
    extra = dict(ON_CPU[version]) | {"metrics.disable_color_printing": True}
    options = Options(version=version, data=Data(), log_interval=1, extra=extra, **more)
    train = train_of(
        seq_len=SEQUENCE,
        global_batch=BATCH,
        tokens=None,
        steps=STEPS,
        warmup=2,
        seed=SEED,
        weights=None if checkpoint is None else str(checkpoint),
        checkpoint_interval=interval,
    )
    return sample_plan("torchtitan", options, model=tiny(family), layout=layout, train=train)


@contextmanager
def training(
    plan: Plan, version: Version, folder: Path, *more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The emitted files at work, in fp32, so that layouts differ by the order of sums alone."""
    write(BACKEND.emit(plan), folder)
    made = environment(ENVIRONMENTS[version])
    variables = made.variables(
        RUN_DIR=str(folder / "run"),
        DUMP_FOLDER=str(folder / "outputs"),
        MASTER_PORT=str(free_port()),
        TMPDIR=str(folder),
    )
    command = ["bash", str(folder / BACKEND.entry), "--training.mixed_precision_param", "float32"]
    packages = folder / "packages"
    packages.mkdir(exist_ok=True)
    # PyTorch reads checkpoints of Hugging Face with it, and torchtitan does not ask for it.
    if not (packages / "safetensors").exists():
        readers = environment("deepspeed").packages / "safetensors"
        (packages / "safetensors").symlink_to(readers)
    variables |= on_cpu(BACKEND.smoke, str(packages))
    process = start([*command, *more], folder / "log", variables)
    try:
        yield process
    finally:
        stop(process)


def log_of(folder: Path) -> Run:
    return Run(COLOUR.sub("", (folder / "log").read_text()))


def trained(plan: Plan, version: Version, folder: Path, *more: str) -> Run:
    with training(plan, version, folder, *more) as process:
        process.wait(LIMIT_SECONDS)
    run = log_of(folder)
    assert process.returncode == 0, run.log[-4000:]
    return run


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    names = sorted({family for _, family in STARTS})
    found = references(names, tmp_path_factory.mktemp("checkpoints"))
    return {name: Path(found[name]["folder"]) / "checkpoint" for name in names}


STARTS: list[tuple[Version, str]] = [
    ("0.2.0", "llama3_1_8b"),
    ("0.2.0", "qwen3_30b_a3b"),
    ("0.2.0", "deepseek_v2_lite"),
    ("0.2.2", "llama3_1_8b"),
    ("0.2.2", "qwen3_30b_a3b"),
    ("0.2.2", "deepseek_v3"),
    ("0.3", "llama3_1_8b"),
    ("0.3", "qwen3_8b"),
]


@pytest.mark.parametrize(("version", "family"), STARTS)
def test_it_starts_from_hugging_faces_weights_and_a_pipeline_changes_nothing(
    version: Version, family: str, checkpoints: dict[str, Path], tmp_path: Path
) -> None:
    """The first loss is transformers'; with a pipeline all losses and gradient norms are those without."""
    checkpoint = checkpoints[family]
    alone = trained(plan_of(version, family, ALONE, checkpoint), version, tmp_path / "alone")
    case: dict[str, Any] = {
        "name": family,
        "checkpoint": str(checkpoint),
        "data": str(tmp_path / "alone" / "torchtitan"),
        "seed": SEED,
        "sequence": SEQUENCE,
        "batch": BATCH,
    }
    if version != "0.3" and family in BF16_EXPERTS:
        case["experts"] = "bfloat16"
    (expected,) = probe("deepspeed", "hugging_face_loss_probe", [case], tmp_path)
    assert len(alone.steps) == STEPS
    assert alone.steps[0][0] == pytest.approx(expected["loss"], rel=LOSS)
    assert alone.steps[-1][0] < alone.steps[0][0]
    if version != "0.3" and family.startswith("qwen3"):
        return
    piped = trained(plan_of(version, family, PIPELINE, checkpoint), version, tmp_path / "piped")
    assert len(piped.steps) == STEPS
    for step, (found, wanted) in enumerate(zip(piped.steps, alone.steps, strict=True)):
        assert found[0] == pytest.approx(wanted[0], rel=LOSS), step
        assert found[1] == pytest.approx(wanted[1], rel=NORM), step


ORDERED: list[tuple[Version, str, int, int]] = [
    ("0.2.2", "gpipe", 1, 0),
    ("0.2.2", "interleaved_zb", 2, 0),
    ("0.2.2", "interleaved_zb", 2, 2),
    ("0.2.2", "zbv", 2, 0),
    ("0.2.2", "zbv", 2, 2),
    ("0.2.2", "dualpipev", 2, 0),
    ("0.2.2", "dualpipev", 2, 2),
    ("0.2.0", "dualpipev", 2, 0),
    ("0.3", "gpipe", 1, 0),
]


@pytest.mark.parametrize(("version", "order", "vpp", "recompute"), ORDERED)
def test_an_order_trains_as_no_pipeline_does(
    version: Version, order: str, vpp: int, recompute: int, tmp_path: Path
) -> None:
    """Losses and gradient norms of the same steps, whichever way passes are ordered and divided."""
    alone, piped = in_order(version, order, vpp, recompute, tmp_path)
    assert SCHEDULE_NAMES[order] in piped.log
    assert len(piped.steps) == len(alone.steps) == STEPS
    for step, (found, wanted) in enumerate(zip(piped.steps, alone.steps, strict=True)):
        assert found[0] == pytest.approx(wanted[0], rel=LOSS), step
        assert found[1] == pytest.approx(wanted[1], rel=NORM), step


def test_divided_backward_passes_lose_gradients_in_0_3(tmp_path: Path) -> None:
    """Why the release refuses schedules that divide them: the loss is the same, its gradients are not."""
    family = "llama3_1_8b"
    (checkpoint,) = references([family], tmp_path).values()
    start_at = Path(checkpoint["folder"]) / "checkpoint"
    asked = "--parallelism.pipeline_parallel_schedule", SCHEDULE_NAMES["zbv"]
    alone = trained(plan_of("0.3", family, ALONE, start_at), "0.3", tmp_path / "alone")
    plan = plan_of("0.3", family, PIPELINE.model_copy(update={"vpp": 2}), start_at)
    piped = trained(plan, "0.3", tmp_path / "piped", *asked)
    assert piped.steps[0][0] == pytest.approx(alone.steps[0][0], rel=LOSS)
    assert piped.steps[0][1] < (1 - NORM) * alone.steps[0][1]


def in_order(
    version: Version, order: str, vpp: int, recompute: int, tmp_path: Path
) -> tuple[Run, Run]:
    """A job without a pipeline, and in one whose passes are in an order."""
    family = "llama3_1_8b"
    (checkpoint,) = references([family], tmp_path).values()
    start_at = Path(checkpoint["folder"]) / "checkpoint"
    decided = {"vpp": vpp, "recompute": recompute, "order": PASSES.index(order)}
    layout = PIPELINE.model_copy(update=decided)
    alone = trained(plan_of(version, family, ALONE, start_at), version, tmp_path / "alone")
    plan = plan_of(version, family, layout, start_at, schedule=order)
    return alone, trained(plan, version, tmp_path / "piped")


def test_selective_recomputation_refuses_divided_backward_passes(tmp_path: Path) -> None:
    """Why PAR183 refuses a layout whose trainer starts."""
    layout = PIPELINE.model_copy(update={"vpp": 2, "recompute": 1})
    asked = "--parallelism.pipeline_parallel_schedule", SCHEDULE_NAMES["interleaved_zb"]
    with pytest.raises(AssertionError, match="Trying to backward an extra time"):
        trained(plan_of("0.2.2", "llama3_1_8b", layout), "0.2.2", tmp_path, *asked)


@pytest.mark.parametrize("version", ENVIRONMENTS)
def test_it_evaluates_on_what_was_asked(version: Version, tmp_path: Path) -> None:
    """After the first step and every tenth, on other tokens of the same kind: about the loss of training."""
    plan = plan_of(
        version, "llama3_8b", PIPELINE, validation=Data(), eval_interval=10, eval_iters=2
    )
    run = trained(plan, version, tmp_path / "run")
    found = dict(re.findall(r"validate step: +(\d+) +loss: +([\d.]+)", run.log))
    assert list(found) == ["1", "10", "20"]
    assert float(found["1"]) == pytest.approx(run.steps[1][0], rel=0.1)


SCHEDULES: dict[str, dict[str, Any]] = {
    "cosine": {"schedule": "cosine"},
    "linear": {"schedule": "linear"},
    "constant": {"schedule": "constant"},
    "wsd linear": {"schedule": "wsd", "decay_style": "linear", "decay_steps": 33},
    "wsd cosine": {"schedule": "wsd", "decay_style": "cosine"},
    "wsd sqrt": {"schedule": "wsd", "decay_style": "sqrt", "decay_steps": 7},
}


def asked_rate(train: Train, step: int) -> float:
    """The language's rate of a step, counted from 1: up to the highest in `warmup`, then down."""
    high, low = train.learning_rate, train.min_learning_rate
    if step <= train.warmup_steps:
        return high * step / train.warmup_steps
    if train.schedule == "constant":
        return high
    style = train.decay_style if train.schedule == "wsd" else train.schedule
    span = train.wsd_steps if train.schedule == "wsd" else train.total_steps - train.warmup_steps
    part = max(0, step - 1 - (train.total_steps - span)) / span
    left = {
        "linear": 1 - part,
        "cosine": (1 + math.cos(math.pi * part)) / 2,
        "sqrt": 1 - math.sqrt(part),
    }[style]
    return low + (high - low) * left


@pytest.mark.parametrize("version", ENVIRONMENTS)
def test_rates_are_the_asked_ones_at_every_step(version: Version, tmp_path: Path) -> None:
    cases, trains = [], {}
    for name, schedule in SCHEDULES.items():
        train = train_of(
            tokens=None,
            steps=137,
            warmup=11,
            learning_rate=4e-4,
            min_learning_rate=3e-5,
            **schedule,
        )
        plan = sample_plan("torchtitan", layout=ALONE, train=train)
        section = tomllib.loads(BACKEND.emit(plan)["torchtitan/train.toml"])["lr_scheduler"]
        trains[name] = train
        cases.append(
            {"name": name, "release": version, "lr": 4e-4, "steps": 137, "lr_scheduler": section}
        )
    for answer in probe(ENVIRONMENTS[version], "torchtitan_rates_probe", cases, tmp_path):
        wanted = [asked_rate(trains[answer["name"]], step) for step in range(1, 138)]
        assert answer["rates"] == pytest.approx(wanted, rel=1e-9), answer["name"]


def test_a_stage_without_layers_is_divided_over_cp(tmp_path: Path) -> None:
    """0.3.0's models/llama3/parallelize.py:48 looks at the stage's first layer."""
    layout = Layout(pp=2, vpp=2, cp=2, dp_shard=1, zero=1, microbatches=4)
    extra: dict[str, Any] = {"parallelism.spmd_backend": "partial_dtensor"}
    plan = sample_plan(
        "torchtitan",
        Options(version="0.3", data=Data(), extra=extra),
        model=tiny("llama3_8b").model_copy(update={"layers": 8}),
        layout=layout,
        train=train_of(seq_len=512, global_batch=4, tokens=None, steps=10, warmup=1),
        split=((2, 3), (3, 0)),
    )
    here = write(BACKEND.emit(plan), tmp_path / "job")
    started = recorded(here / BACKEND.entry, here, 1)
    case = {
        "name": "bare",
        "program": started.program,
        "search": started.environment["PYTHONPATH"],
        "world": started.world,
        "rank": started.world - 1,
        "capability": capability(plan.job.cluster.gpu.arch),
        "assets": str(assets(tmp_path / "assets")),
    }
    (answer,) = probe("torchtitan-0.3.0", "torchtitan_python_probe", [case], tmp_path)
    assert answer["stage"] == "accepted" and answer["layers"] == [3, 0], answer
