"""Megatron-LM: two jobs started in one folder never touch, and a stage goes on with another's weights."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.acceptance.support.megatron_runs import SAME, TARGET, checkout, trained
from tests.acceptance.support.stages import PARTS, WHOLE, compiled
from tests.acceptance.support.stages import STEPS as CARRIED_STEPS

STEPS, VOCABULARY = 20, 256
JOB = """
model tiny {{ layers = 2; hidden = 64; heads = 4; kv_heads = 2; ffn = 128; vocab = 256 }}
cluster one from std.dgx_h100 {{ nodes = 1; gpus_per_node = {gpus}; cpu_cores = 2 }}
train {{ seq_len = 64; global_batch = 8; warmup = 0; learning_rate = {rate}; schedule = constant }}
stage main {{ steps = 20 }}
stage long {{ steps = 3; seq_len = 128; global_batch = 4 }}
goal {{ {condition} }}
{target}
"""
CARRIED = """
model tiny {{ layers = 2; hidden = 64; heads = 4; kv_heads = 2; ffn = 128; vocab = 256 }}
cluster one from std.dgx_h100 {{ nodes = 1; gpus_per_node = {gpus}; cpu_cores = 2 }}
train {{ seq_len = 64; global_batch = 8; learning_rate = 3e-3; {train} }}
{stages}
goal {{ {condition} }}
{target}
"""
#: The GPUs, and a condition on the layout, of both stages.
LAYOUTS = {"alone": (1, "require zero == 0"), "divided": (2, "require zero == 1; require pp == 2")}


def test_a_stage_that_carries_all_goes_on_as_one_training(tmp_path: Path) -> None:
    gpus, condition = LAYOUTS["divided"]
    root = checkout(tmp_path)

    def losses(name: str, train: str, stages: str) -> dict[int, float]:
        given = {"gpus": gpus, "condition": condition, "target": TARGET}
        text = CARRIED.format(**given, train=train, stages=stages)
        found: dict[int, float] = {}
        for stage, made in compiled(text, tmp_path / name).items():
            found |= trained(made.script, root, tmp_path / f"{name}-{stage}.log").losses
        return found

    whole, parts = losses("whole", WHOLE, ""), losses("parts", "", PARTS)
    assert list(parts) == list(whole) == list(range(1, CARRIED_STEPS + 1))
    assert parts == pytest.approx(whole, rel=SAME)


@pytest.mark.parametrize("name", LAYOUTS)
def test_stages_follow_and_jobs_do_not_meet(name: str, tmp_path: Path) -> None:
    gpus, condition = LAYOUTS[name]
    root = checkout(tmp_path)

    def scripts(job: str, rate: float) -> dict[str, Path]:
        text = JOB.format(gpus=gpus, rate=rate, condition=condition, target=TARGET)
        stages = compiled(text, tmp_path / job)
        return {name: stage.script for name, stage in stages.items()}

    def losses(script: Path) -> dict[int, float]:
        return trained(script, root, script.with_suffix(".log")).losses

    first, second = scripts("first", 3e-3), scripts("second", 1e-3)
    main = losses(first["main"])
    assert list(main) == list(range(1, STEPS + 1))
    assert main[1] == pytest.approx(math.log(VOCABULARY), abs=0.2) and main[STEPS] < main[1] - 1
    other = losses(second["main"])
    assert list(other) == list(main), "it would go on with the first job's last step"
    assert other[1] == pytest.approx(main[1], rel=SAME)
    long = losses(first["long"])
    assert list(long) == [1, 2, 3] and long[1] == pytest.approx(main[STEPS], abs=0.3)
    runs = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "runs").iterdir())
    assert runs == ["tiny-long-megatron", "tiny-main-megatron", "tiny-main-megatron"]
