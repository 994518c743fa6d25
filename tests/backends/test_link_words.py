"""What comments of emitted files say of groups that leave their fast link."""

from __future__ import annotations

import pytest

from parc.backends.deepspeed.emit.files import _summary
from parc.backends.link_words import and_link, link
from parc.backends.megatron.emit.parallel import parallel_flags
from parc.backends.megatron.options import Options as MegatronOptions
from parc.backends.torchtitan.emit.reasons import degrees
from parc.backends.torchtitan.options import Options as TitanOptions
from parc.compiler.plan import Layout, Plan
from tests.support.sample_plans import LLAMA3_8B, sample_plan

#: Four nodes of six GPUs.
SIX = Layout(tp=4, cp=2, dp_shard=3)


def plan_of(target: str, layout: Layout, per_node: int = 6) -> Plan:
    options = {"megatron": MegatronOptions(), "torchtitan": TitanOptions()}.get(target)
    return sample_plan(target, options, model=LLAMA3_8B, layout=layout, gpus_per_node=per_node)


@pytest.mark.parametrize(
    ("layout", "per_node", "kind", "said"),
    [
        (SIX, 6, "tp", "2 of 6 groups lie on 2 nodes: 50 GB/s a GPU between them"),
        (SIX, 6, "cp", "8 of 12 groups lie on 2 nodes: 50 GB/s a GPU between them"),
        (Layout(tp=3, dp_shard=4), 6, "tp", None),
        (Layout(tp=4, dp_shard=3), 6, "tp", "1 of 3 groups lies on 2 nodes: 50 GB/s a GPU between them"),
        (Layout(tp=8, cp=2, dp_shard=2), 8, "tp", None),
        (Layout(tp=8, cp=2), 8, "cp", "each group lies on 2 nodes: 50 GB/s a GPU between them"),
    ],
)  # fmt: skip
def test_groups_that_leave(layout: Layout, per_node: int, kind: str, said: str | None) -> None:
    plan = plan_of("megatron", layout, per_node)
    assert link(plan, kind) == said
    assert and_link(plan, kind) == (f"; {said}" if said else "")


def test_every_framework_says_it() -> None:
    tp = "2 of 6 groups lie on 2 nodes"
    megatron = {each.name: each.why for each in parallel_flags(plan_of("megatron", SIX))}
    assert tp in str(megatron["--tensor-model-parallel-size"])
    assert "8 of 12 groups lie" in str(megatron["--context-parallel-size"])
    titan = degrees(plan_of("torchtitan", SIX))
    assert tp in titan["tensor_parallel_degree"] and "NVLink" not in titan["tensor_parallel_degree"]
    assert "8 of 12 groups lie" in titan["context_parallel_degree"]
    deepspeed = "\n".join(_summary(plan_of("deepspeed", Layout(cp=4, dp_shard=6))))
    assert "Ulysses 4: 2 of 6 groups lie on 2 nodes: 50 GB/s a GPU between them." in deepspeed
