"""`ep_overlap` under `target megatron`: written, read, priced, and what cannot have it."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.backends.megatron.read import READER
from parc.compiler import estimate
from parc.compiler.plan import Estimate, Layout
from parc.dsl import JobError
from parc.lint.unexpressed import unexpressed
from tests.support.megatron_plans import DENSE, MOE, plan_of

OPTION = "--overlap-moe-expert-parallel-comm"
ON = Options(ep_overlap=True)
LAYOUT = Layout(ep=4, dp_shard=8, zero=1, microbatches=2)


def script(layout: Layout, options: Options = ON) -> str:
    return BACKEND.emit(plan_of(MOE, layout, options))["megatron/pretrain.sh"]


def priced(options: Options, **layout: int) -> Estimate:
    wanted = {"ep": 4, "zero": 1, "micro_batch": 1, "recompute": 0, "vpp": 1, **layout}
    return estimate(plan_of(MOE, LAYOUT, options).job, BACKEND.target, wanted)


def test_it_is_written_with_several_connections_and_read_back() -> None:
    text = script(LAYOUT)
    assert f"    {OPTION} " in text and "export CUDA_DEVICE_MAX_CONNECTIONS=32" in text
    (config,) = read_jobs({"megatron/pretrain.sh": text})
    assert READER.options(config)["ep_overlap"] is True and not unexpressed(config)
    (plain,) = read_jobs({"megatron/pretrain.sh": script(LAYOUT, Options())})
    assert "ep_overlap" not in READER.options(plain)


def test_one_rank_has_nothing_to_overlap() -> None:
    assert OPTION not in script(Layout(dp_shard=8, zero=1, microbatches=2))


def test_a_part_of_the_exchange_is_hidden_and_a_layer_more_is_held() -> None:
    plain, beside = priced(Options()), priced(ON)
    assert 0 < beside.time["ep"] < plain.time["ep"]
    assert beside.step_seconds < plain.step_seconds
    layer = plain.fullest.memory["activations"] / plan_of(MOE, LAYOUT, ON).job.model.layers
    more = beside.fullest.memory["activations"] - plain.fullest.memory["activations"]
    assert 0 < more <= 1.2 * layer


@pytest.mark.parametrize(
    ("layout", "code"),
    [
        ({"pp": 2}, "PAR477"),
        ({"recompute": 2}, "PAR478"),
        ({"dp_shard": 8, "micro_batch": 0}, "PAR479"),
        ({"zero": 3}, "PAR479"),
    ],
)
def test_what_its_schedule_cannot_run_is_refused(layout: dict[str, int], code: str) -> None:
    if not layout.get("micro_batch", 1):
        batch = plan_of(MOE, LAYOUT, ON).job.train.global_batch
        layout = {**layout, "micro_batch": batch // 8}
    with pytest.raises(JobError) as caught:
        priced(ON, **layout)
    assert code in {each.code for each in caught.value.diagnostics}
    free = {**layout, "ep": 1}
    assert not {"PAR477", "PAR478", "PAR479"} & _codes(free)


def _codes(layout: dict[str, int]) -> set[str]:
    try:
        priced(ON, **layout)
    except JobError as error:
        return {each.code for each in error.diagnostics}
    return set()


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (DENSE, {}, "without experts"),
        (MOE.model_copy(update={"mtp_layers": 2}), {}, "mtp_layers 2"),
        (MOE, {"cuda_graph": True}, "no published run has both"),
        (MOE, {"extra": {"overlap_moe_expert_parallel_comm": True}}, "ep_overlap = true"),
    ],
)
def test_what_it_cannot_be_beside(model: Any, options: dict[str, Any], words: str) -> None:
    job = plan_of(model, LAYOUT, Options(ep_overlap=True, **options)).job
    assert any(words in f"{each.message} {each.help}" for each in BACKEND.target.refuses(job))
