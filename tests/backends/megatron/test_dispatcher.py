"""`dispatcher` under `target megatron`: what carries tokens to experts, written, read, priced, refused."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.backends.megatron.read import READER
from parc.compiler import estimate
from parc.compiler.plan import Layout
from parc.dsl.diagnostics import Diagnostic
from parc.lint.unexpressed import unexpressed
from tests.support.megatron_plans import DENSE, MOE, plan_of
from tests.support.sample_plans import A100, H100, MI300X, V100

LAYOUT = Layout(ep=8, dp_shard=8, zero=1)
FIXED = {"moe-pad-expert-input-to-capacity": True}


def problems(settings: dict[str, Any], **more: Any) -> list[Diagnostic]:
    plan = plan_of(more.pop("model", MOE), LAYOUT, Options(**settings), **more)
    return BACKEND.target.refuses(plan.job)


@pytest.mark.parametrize("name", ["deepep", "hybridep"])
def test_it_is_written_and_read_back(name: Any) -> None:
    files = BACKEND.emit(plan_of(MOE, LAYOUT, Options(dispatcher=name)))
    (config,) = read_jobs(files)
    words = files["megatron/pretrain.sh"].split()
    assert words[words.index("--moe-token-dispatcher-type") + 1] == "flex"
    assert words[words.index("--moe-flex-dispatcher-backend") + 1] == name
    assert READER.options(config)["dispatcher"] == name and not unexpressed(config)


def test_one_rank_has_nobody_to_send_to() -> None:
    layout = Layout(dp_shard=8, zero=1)
    files = BACKEND.emit(plan_of(MOE, layout, Options(dispatcher="deepep")))
    assert "--moe-token-dispatcher-type alltoall" in files["megatron/pretrain.sh"]


def test_a_token_that_travels_once_takes_less_time() -> None:
    plain, once = (
        estimate(
            plan_of(MOE, LAYOUT, Options(dispatcher=name)).job,
            BACKEND.target,
            {"ep": 8, "dp_shard": 8, "zero": 1},
        )
        for name in ("alltoall", "deepep")
    )
    assert once.time["ep"] < plain.time["ep"]


@pytest.mark.parametrize(
    ("settings", "more", "words"),
    [
        ({"dispatcher": "deepep"}, {"model": DENSE}, "without experts"),
        ({"dispatcher": "hybridep"}, {"gpu": MI300X}, "not on mi300x"),
        (
            {"dispatcher": "hybridep"},
            {"gpu": V100, "precision": "fp16", "attention": "unfused"},
            "not on v100_32gb",
        ),
        ({"dispatcher": "deepep", "extra": FIXED}, {}, "does not pad"),
    ],
)
def test_where_it_cannot_run_is_named(
    settings: dict[str, Any], more: dict[str, Any], words: str
) -> None:
    (said,) = problems(settings, **more)
    assert said.code == "PAR395" and words in said.message and "alltoall" in (said.help or "")


def test_deepep_joins_eight_gpus() -> None:
    job = plan_of(MOE, LAYOUT, Options(dispatcher="deepep")).job
    racks = job.cluster.model_copy(update={"nvlink_domain": 72})
    (said,) = BACKEND.target.refuses(job.model_copy(update={"cluster": racks}))
    assert "joins 8 GPUs by NVLink, not 72" in said.message and "hybridep" in (said.help or "")


@pytest.mark.parametrize("gpu", [A100, H100])
def test_it_runs_on_nodes_of_eight(gpu: Any) -> None:
    assert problems({"dispatcher": "deepep"}, gpu=gpu) == []
