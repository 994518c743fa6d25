"""Emitted settings of a training, run on CPUs by Megatron-LM itself, where MEGATRON_ROOT is set.

A batch that grows, wsd, data of each split, one kept checkpoint, a profile: a shrunken job as `parc smoke`
would train it, with these settings instead of smoke's own.
"""

from __future__ import annotations

import gzip
import math
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from parc.backends.megatron import BACKEND
from parc.compiler.plan import Plan
from parc.dsl.settings import Data
from parc.saved_checkpoints import checkpoint_side
from tests.acceptance.support.environments import TRAINING
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS, Wanted, prepared

pytestmark = pytest.mark.skipif(
    "MEGATRON_ROOT" not in os.environ,
    reason="MEGATRON_ROOT is not set: pretrain_gpt.py is in no package",
)
WANTED = Wanted(
    "zero == 1, tp == 1, pp == 1, cp == 1", 2, {}, "model decoder from std.llama3_8b { layers = 2 }"
)
STEPS, HIGH, LOW = 12, 1e-3, 1e-4
STEP = re.compile(r"iteration +(\d+)/.*learning rate: ([\d.E+-]+) \| global batch size: +(\d+)")


@dataclass(frozen=True)
class Run:
    folder: Path
    full: int
    log: str


def asked(plan: Plan, folder: Path) -> Plan:
    """The plan with a ramp from half of the batch over the first four steps, and all that is written."""
    train, (target,) = plan.job.train, plan.job.targets
    source = Data(parts=((str(folder / "work" / "documents"), 1.0),))
    splits = {"data": None, "train_data": source, "valid_data": source}
    watched = {
        "profile_start": 2,
        "profile_stop": 3,
        "tensorboard": str(folder / "board"),
        "eval_interval": 6,
        "eval_iters": 1,
    }
    half = train.global_batch // 2
    training = {
        "ramp_from": half,
        "ramp_tokens": 4 * half * train.seq_len,
        "schedule": "wsd",
        "warmup": 2,
        "decay_steps": 4,
        "decay_style": "sqrt",
        "learning_rate": HIGH,
        "min_learning_rate": LOW,
        "checkpoint_interval": 5,
        "keep_checkpoints": 1,
        "async_checkpoints": True,
        "collective_timeout": 600.0,
    }
    options = target.options.model_copy(update={**splits, **watched})
    changed = {
        "train": train.model_copy(update=training),
        "targets": (target.model_copy(update={"options": options}),),
    }
    return plan.model_copy(update={"job": plan.job.model_copy(update=changed)})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("megatron") / "trained"
    ready = prepared("megatron", WANTED, TRAINING, folder, STEPS)
    plan = asked(ready.plan, folder)
    for path, text in BACKEND.emit(plan).items():
        (folder / path).write_text(text)
    done = subprocess.run(
        ready.command,
        env=dict(ready.environment),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return Run(folder, plan.job.train.global_batch, done.stdout + done.stderr)


def test_the_batch_grows_and_the_rate_follows_the_sequences(run: Run) -> None:
    steps = [(float(rate), int(batch)) for _, rate, batch in STEP.findall(run.log)]
    half = run.full // 2
    assert [batch for _, batch in steps] == [half] * 4 + [run.full] * 8
    rates = [HIGH / 2, *[HIGH] * 7]
    rates += [LOW + (HIGH - LOW) * (1 - math.sqrt(share / 4)) for share in range(1, 5)]
    assert [rate for rate, _ in steps] == pytest.approx(rates, rel=1e-5)


def test_one_checkpoint_stays(run: Run) -> None:
    kept = sorted(path.name for path in (run.folder / "work" / "checkpoints").glob("iter_*"))
    assert kept == [f"iter_{STEPS:07}"]


def test_the_checkpoint_tells_the_layout_that_wrote_it(run: Run) -> None:
    """Which `parc reshape` asks it for, without loading it."""
    side = checkpoint_side(str(run.folder / "work"))
    assert (side.saved.framework, side.saved.step, side.saved.ranks) == ("megatron", STEPS, 2)
    degrees = dict.fromkeys(("tp", "pp", "vpp", "cp", "ep", "etp"), 1)
    assert side.saved.layout == {**degrees, "dp": 2, "zero": 1}
    assert side.saved.form == {"format": "torch_dist", "optimizer state": "buffers of ranks"}
    assert side.sizes["layers"] == 2


def test_the_profile_has_the_steps_that_were_asked_for(run: Run) -> None:
    (trace,) = (run.folder / "torch_profile").glob("*.json.gz")
    recorded = set(re.findall(r"ProfilerStep#(\d+)", gzip.decompress(trace.read_bytes()).decode()))
    assert recorded == {"2", "3"}


def test_validation_reads_its_own_data(run: Run) -> None:
    assert re.findall(r"validation loss at iteration (\d+) \|", run.log) == ["6", str(STEPS)]
