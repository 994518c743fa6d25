"""DeepSpeed: two jobs started in one folder never touch, and a stage goes on with the weights of another."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from tests.acceptance.support.deepspeed_runs import losses
from tests.acceptance.support.environments import environment
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.slurm_tools import free_ports
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS, extensions
from tests.acceptance.support.stages import PARTS, WHOLE, compiled
from tests.acceptance.support.stages import STEPS as CARRIED_STEPS

STEPS, VOCABULARY = 30, 256
JOB = """
model tiny {{ layers = 2; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster one from std.dgx_h100 {{ nodes = 1; gpus_per_node = 1; cpu_cores = 2 }}
train {{ seq_len = 64; global_batch = 16; warmup = 0; learning_rate = {rate}; schedule = constant }}
stage main {{ steps = 30 }}
stage long {{ steps = 3; seq_len = 128; global_batch = 8 }}
goal {{ require {rule} }}
target deepspeed {{ adam = "torch"; log_interval = 1; data = "{folder}/tokens.bin" }}
"""
CARRIED = """
model tiny {{ layers = 2; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster one from std.dgx_h100 {{ nodes = 1; gpus_per_node = 1; cpu_cores = 2 }}
train {{ seq_len = 64; global_batch = 16; learning_rate = 3e-3; {train} }}
{stages}
goal {{ require {rule} }}
target deepspeed {{ adam = "torch"; log_interval = 1; data = "{folder}/tokens.bin" }}
"""


def scripts(folder: Path, name: str, rate: float, rule: str) -> dict[str, Path]:
    """The entry scripts of a job's stages."""
    stages = compiled(JOB.format(rate=rate, rule=rule, folder=folder), folder / name)
    return {name: stage.script for name, stage in stages.items()}


def trained(script: Path, folder: Path) -> list[float]:
    """The losses of a run that is started in `folder`, as a user would."""
    (port,) = free_ports(1)
    variables = environment("deepspeed").variables(MASTER_PORT=str(port), **extensions())
    log = script.with_suffix(".log")
    command = ["bash", "-c", 'cd -- "$0" && exec bash "$1"', str(folder), str(script)]
    process = start(command, log, variables)
    try:
        status = process.wait(LIMIT_SECONDS)
    finally:
        stop(process)
    assert status == 0, log.read_text()[-4000:]
    return losses(log.read_text())


def write_tokens(folder: Path) -> None:
    """Tokens of which each tells the next but one bit: what is learnt shows in the first loss."""
    draw = random.Random(0)
    ids = [0]
    for _ in range(64 * 600):
        ids.append((3 * ids[-1] + draw.randrange(2)) % VOCABULARY)
    (folder / "tokens.bin").write_bytes(b"".join(each.to_bytes(2, "little") for each in ids))


@pytest.mark.parametrize("rule", ["zero == 1", "zero == 3"])
def test_a_stage_that_carries_all_goes_on_as_one_training(rule: str, tmp_path: Path) -> None:
    write_tokens(tmp_path)

    def trained_losses(name: str, train: str, stages: str) -> list[float]:
        text = CARRIED.format(rule=rule, folder=tmp_path, train=train, stages=stages)
        files = compiled(text, tmp_path / name).values()
        return [loss for each in files for loss in trained(each.script, tmp_path)]

    whole, parts = trained_losses("whole", WHOLE, ""), trained_losses("parts", "", PARTS)
    assert len(whole) == CARRIED_STEPS and parts == pytest.approx(whole, abs=1e-4)


@pytest.mark.parametrize("rule", ["zero == 1", "zero == 3"])
def test_stages_follow_and_jobs_do_not_meet(rule: str, tmp_path: Path) -> None:
    write_tokens(tmp_path)
    first = scripts(tmp_path, "first", 3e-3, rule)
    second = scripts(tmp_path, "second", 1e-3, rule)
    main = trained(first["main"], tmp_path)
    assert len(main) == STEPS
    assert main[0] == pytest.approx(math.log(VOCABULARY), abs=0.2) and main[-1] < main[0] - 1
    other = trained(second["main"], tmp_path)
    assert len(other) == STEPS, "it would go on with the first job's last step"
    assert other[0] == pytest.approx(main[0], abs=1e-3)
    long = trained(first["long"], tmp_path)
    assert len(long) == 3 and long[0] == pytest.approx(main[-1], abs=0.3)
    runs = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "runs").iterdir())
    assert runs == ["tiny-long-deepspeed", "tiny-main-deepspeed", "tiny-main-deepspeed"]
