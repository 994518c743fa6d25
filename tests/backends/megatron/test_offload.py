"""`offload = optimizer` under `target megatron`: offered, written, read back, priced and refused."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.megatron import BACKEND
from parc.backends.megatron.offload import levels
from parc.backends.megatron.options import Options
from parc.compiler import estimate
from parc.compiler.model import parameters
from parc.compiler.plan import Layout, Plan
from parc.compiler.rules.validity import problems
from parc.dsl import loads
from parc.lint.unexpressed import unexpressed
from tests.support.megatron_plans import DENSE, plan_of
from tests.support.sample_plans import B200

LAYOUT = Layout(tp=2, dp_shard=4, zero=1, offload=1)
SWITCHES = {
    "--optimizer-cpu-offload",
    "--optimizer-offload-fraction",
    "--use-precision-aware-optimizer",
    "--overlap-cpu-optimizer-d2h-h2d",
}
TEXT = """model m from std.{model} {{ }}
cluster pod from std.dgx_h100 {{ nodes = {nodes} }}
train {{ seq_len = 4096; global_batch = 512; steps = 100; optimizer = {optimizer} }}
goal {{ maximize mfu; {goal} }}
target megatron {{ }}
"""
NAMING = TEXT.format(
    model="llama3_8b", nodes=1, optimizer="adam", goal="require offload in {none, optimizer}"
)


def priced(offload: int) -> Any:
    """Of a job whose goal names `offload`."""
    job = plan_of(layout=LAYOUT).job
    job = job.model_copy(update={"goal": loads(NAMING, targets={"megatron": Options}).goal})
    return estimate(job, BACKEND.target, {"tp": 2, "dp_shard": 4, "zero": 1, "offload": offload})


def refused(plan: Plan) -> list[str]:
    return [found.code for found in problems(plan.job, BACKEND.target, plan.layout)]


@pytest.mark.parametrize(
    ("model", "nodes", "optimizer", "goal", "found"),
    [
        ("llama3_70b", 4, "adam", "", (0, 1)),
        ("llama3_70b", 4, "sgd", "", (0,)),
        ("llama3_70b", 8, "adam", "", (0,)),
        ("llama3_8b", 64, "adam", "", (0,)),
        ("llama3_8b", 64, "adam", "forbid offload == none", (0, 1)),
        ("llama3_405b", 16, "adam", "", (0, 1)),
    ],
)
def test_it_is_offered_where_it_frees_what_counts(
    model: str, nodes: int, optimizer: str, goal: str, found: tuple[int, ...]
) -> None:
    text = TEXT.format(model=model, nodes=nodes, optimizer=optimizer, goal=goal)
    assert levels(loads(text, "job.par", targets={"megatron": Options})) == found


def test_it_is_written_and_read_back() -> None:
    files = BACKEND.emit(plan_of(layout=LAYOUT))
    plain = BACKEND.emit(plan_of(layout=LAYOUT.model_copy(update={"offload": 0})))
    (config,) = read_jobs(files)
    assert set(files["megatron/pretrain.sh"].split()) >= SWITCHES
    assert not SWITCHES & set(plain["megatron/pretrain.sh"].split())
    assert config.value("offload") == "optimizer" and not unexpressed(config)


def test_states_leave_the_gpu_and_the_update_takes_longer() -> None:
    stays, moved = priced(0), priced(1)
    owned = parameters.total(DENSE) / 8
    assert stays.fullest.memory["optimizer"] == pytest.approx(12 * owned, rel=0.01)
    assert moved.fullest.memory["optimizer"] == pytest.approx(0, abs=1e6)
    assert moved.time["optimizer"] > 10 * stays.time["optimizer"]


@pytest.mark.parametrize(
    ("layout", "options", "train", "codes"),
    [
        (LAYOUT, Options(), {}, []),
        (Layout(dp_shard=8, zero=3, offload=1), Options(), {}, ["PAR445"]),
        (Layout(tp=2, dp_replicate=4, offload=1), Options(), {}, ["PAR445"]),
        (LAYOUT, Options(fp8_recipe="delayed"), {"precision": "fp8"}, []),
        (LAYOUT, Options(), {"precision": "fp8"}, ["PAR446"]),
        (LAYOUT, Options(), {"precision": "mxfp8", "gpu": B200}, ["PAR446"]),
        (LAYOUT, Options(fp8_params=False), {"precision": "mxfp8", "gpu": B200}, []),
    ],
)
def test_what_megatron_refuses_is_refused(
    layout: Layout, options: Options, train: dict[str, Any], codes: list[str]
) -> None:
    assert refused(plan_of(layout=layout, options=options, **train)) == codes
