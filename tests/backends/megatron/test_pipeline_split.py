"""Layers on pipeline stages: the emitted options mean what the plan says."""

from __future__ import annotations

import re

import pytest

from parc.backends.megatron import BACKEND
from parc.backends.megatron.emit.pipeline import stage_count
from parc.compiler.plan import Layout
from tests.support import sample_plans
from tests.support.megatron_plans import DENSE, arguments, plan_of, with_model
from tests.support.read_back import read_back


def placed(words: list[str], layers: int, pp: int) -> list[list[int]]:
    """Layers of each rank's chunks, as Megatron-LM's get_num_layers_to_build deals them."""
    given = dict(zip(words, [*words[1:], ""], strict=True))
    if text := given.get("--pipeline-model-parallel-layout"):
        stages = [stage.count("t") for stage in unrolled(text).split("|")]
        return [stages[rank::pp] for rank in range(pp)]
    vpp = int(given.get("--num-virtual-stages-per-pipeline-rank", 1))
    first, last = (given.get(f"--decoder-{end}-pipeline-num-layers") for end in ("first", "last"))
    embedding = "--account-for-embedding-in-pipeline-split" in given
    loss = "--account-for-loss-in-pipeline-split" in given
    ends = {rank: int(n) for rank, n in ((0, first), (pp - 1, last)) if n}
    rest = layers + embedding + loss - sum(ends.values())
    assert rest % max(1, pp - len(ends)) == 0
    totals = [ends.get(rank, rest // max(1, pp - len(ends))) for rank in range(pp)]
    assert all(total % vpp == 0 for total in totals)
    chunks = [[total // vpp] * vpp for total in totals]
    chunks[0][0] -= embedding
    chunks[-1][-1] -= loss
    return chunks


def unrolled(text: str) -> str:
    text = re.sub(r"\(([^)]+)\)\*(\d+)", lambda match: match[1] * int(match[2]), text)
    return re.sub(r"(.)\*(\d+)", lambda match: match[1] * int(match[2]), text)


@pytest.mark.parametrize(
    "split",
    [
        [[8], [8], [8], [8]],
        [[5], [9], [9], [9]],
        [[9], [9], [9], [5]],
        [[7], [9], [9], [7]],
        [[6], [9], [9], [8]],
        [[7], [8], [9], [8]],
        [[4, 4], [4, 4], [4, 4], [4, 4]],
        [[3, 3], [4, 4], [4, 4], [5, 5]],
        [[2, 3, 3], [3, 3, 3], [3, 3, 3], [3, 2, 1]],
        [[7], [8], [8], [8]],
        [[8], [8], [8], [7]],
        [[0, 1], [1, 1], [1, 0]],
        [[0, 2], [1, 2], [1, 0]],
        [[3], [1]],
    ],
)
def test_layer_split_means_the_plan(split: list[list[int]]) -> None:
    pp, vpp, layers = len(split), len(split[0]), sum(map(sum, split))
    layout = Layout(pp=pp, vpp=vpp, dp_shard=2, zero=1, microbatches=4 * pp)
    plan = plan_of(with_model(DENSE, layers=layers), layout, split=split)
    assert placed(arguments(plan), layers, pp) == split
    assert read_back(BACKEND.emit(plan)).value("vpp") == vpp


def test_an_even_split_needs_no_option() -> None:
    layout = Layout(pp=4, dp_shard=2, zero=1, microbatches=16)
    words = arguments(plan_of(with_model(DENSE, layers=32), layout, split=[[8]] * 4))
    assert not [word for word in words if re.search("decoder-|in-pipeline-split|-layout", word)]


def test_prediction_layers_stand_before_the_loss() -> None:
    split = [[5], [4], [4], [3]]
    model = with_model(sample_plans.DEEPSEEK_V3, layers=16, mtp_layers=2)
    plan = plan_of(model, Layout(pp=4, dp_shard=2, zero=1, microbatches=8), split=split)
    assert "--decoder-first-pipeline-num-layers 5 --decoder-last-pipeline-num-layers 3" in " ".join(
        arguments(plan)
    )
    plan = plan_of(model, plan.layout, split=[[5], [3], [4], [4]])
    assert "--pipeline-model-parallel-layout Et*5|t*3|t*4|t*4m*2L" in " ".join(arguments(plan))


def test_stage_count() -> None:
    assert stage_count("Et*7|(t*8|)*14t*7L") == 16
    assert stage_count("E|t|L") == 3
