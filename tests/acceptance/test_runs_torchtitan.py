"""torchtitan: two jobs started in one folder never touch, and a stage goes on with the weights of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.backends.torchtitan.smoke import SMOKE, write_text
from parc.smoke.processes import Line
from parc.smoke.smoke_run import on_cpu, steps_of
from tests.acceptance.support.environments import environment
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.slurm_tools import free_ports
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS
from tests.acceptance.support.stages import PARTS, WHOLE, compiled
from tests.acceptance.support.stages import STEPS as CARRIED_STEPS

STEPS = 12
JOB = """
model tiny {{ layers = 2; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster one from std.dgx_h100 {{ nodes = 1; gpus_per_node = 1; cpu_cores = 2 }}
train {{ seq_len = 64; global_batch = 8; warmup = 0; learning_rate = {rate}; schedule = constant }}
stage main {{ steps = 12 }}
stage long {{ steps = 2; seq_len = 128; global_batch = 4 }}
target torchtitan {{
  data = "c4_test"; log_interval = 1
  extra = {{ "optimizer.implementation" = "for-loop"; "metrics.disable_color_printing" = true }}
}}
"""
CARRIED = """
model tiny {{ layers = 2; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster one from std.dgx_h100 {{ nodes = 1; gpus_per_node = 1; cpu_cores = 2 }}
train {{ seq_len = 64; global_batch = 8; learning_rate = 3e-3; {train} }}
{stages}
target torchtitan {{
  data = "c4_test"; log_interval = 1
  extra = {{ "optimizer.implementation" = "for-loop"; "metrics.disable_color_printing" = true }}
}}
"""


def scripts(folder: Path, name: str, rate: float) -> dict[str, Path]:
    """The entry scripts of a job's stages."""
    stages = compiled(JOB.format(rate=rate), folder / name)
    return {name: stage.script for name, stage in stages.items()}


def trained(script: Path, folder: Path) -> list[float]:
    """The losses of a run that is started in `folder`, as a user would."""
    (port,) = free_ports(1)
    variables = environment("torchtitan-0.2.2").variables(
        MASTER_PORT=str(port),
        HF_HOME=str(folder / "hub"),
        HF_ASSETS_PATH=str(folder / "assets" / "tokenizer"),
        DATASET_PATH=str(folder / "assets" / "data"),
        **on_cpu(SMOKE),
    )
    log = script.with_suffix(".log")
    command = ["bash", "-c", 'cd -- "$0" && exec bash "$1"', str(folder), str(script)]
    process = start(command, log, variables)
    try:
        status = process.wait(LIMIT_SECONDS)
    finally:
        stop(process)
    text = log.read_text()
    assert status == 0, text[-4000:]
    return [
        step.loss for step in steps_of((Line(0, line) for line in text.splitlines()), SMOKE.step)
    ]


def test_a_stage_that_carries_all_goes_on_as_one_training(tmp_path: Path) -> None:
    write_text(tmp_path / "assets")

    def losses(name: str, train: str, stages: str) -> list[float]:
        files = compiled(CARRIED.format(train=train, stages=stages), tmp_path / name).values()
        return [loss for each in files for loss in trained(each.script, tmp_path)]

    whole, parts = losses("whole", WHOLE, ""), losses("parts", "", PARTS)
    assert len(whole) == CARRIED_STEPS and parts == pytest.approx(whole, abs=1e-4)


def test_stages_follow_and_jobs_do_not_meet(tmp_path: Path) -> None:
    write_text(tmp_path / "assets")
    first = scripts(tmp_path, "first", 3e-3)
    second = scripts(tmp_path, "second", 1e-3)
    main = trained(first["main"], tmp_path)
    assert len(main) == STEPS and main[-1] < main[0] - 0.2
    other = trained(second["main"], tmp_path)
    assert len(other) == STEPS, "it would go on with the first job's last step"
    assert abs(other[0] - main[0]) < 0.01
    long = trained(first["long"], tmp_path)
    assert len(long) == 2 and long[0] < (main[0] + main[-1]) / 2, (main, long)
