"""What a priced layout says of groups that straddle two nodes, and what that costs."""

from __future__ import annotations

import pytest

import parc
from parc.backends import OPTIONS
from parc.compiler.explain.straddling import leaving
from parc.compiler.plan import Layout
from parc.dsl.check import loads
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Job
from parc.printing.straddling_text import straddling_lines

TEXT = """
model m { layers = 8; hidden = 4096; heads = 32; kv_heads = 8; ffn = 14336; vocab = 32000 }
cluster c from std.CLUSTER
train { seq_len = 8192; global_batch = 96; tokens = 1G }
target megatron {}
"""
SIX = "dgx_h100 { nodes = 4; gpus_per_node = 6 }"


def job_on(cluster: str) -> Job:
    return loads(TEXT.replace("CLUSTER", cluster), targets=OPTIONS)


def said(cluster: str, **layout: int) -> str:
    job = job_on(cluster)
    found = parc.estimate(job, layout, "megatron")
    return " ".join(" ".join(straddling_lines(job, "megatron", found)).split())


def test_groups_on_two_nodes_are_counted_and_what_they_take_is_told() -> None:
    text = said(SIX, tp=4)
    assert text.startswith("links 2 of 6 tp groups straddle 2 nodes: ")
    assert text.endswith(" if all stayed inside")


def test_groups_that_divide_a_node_or_fill_nodes_are_no_news() -> None:
    assert said(SIX, tp=2) == ""
    assert said("dgx_h100 { nodes = 6 }", tp=8, cp=2) == ""


@pytest.mark.parametrize(("nodes", "straddling"), [(36, 4), (32, 0), (16, 0)])
def test_groups_of_a_rack(nodes: int, straddling: int) -> None:
    """cp 4 of tp 4 straddles where ranks fill 72 GPUs, and not in 64 of them or in one rack."""
    cluster = job_on(f"gb200_nvl72 {{ nodes = {nodes} }}").cluster
    found = leaving(cluster, Layout(tp=4, cp=4, dp_shard=nodes // 4, nodes=nodes))
    assert sum(each.groups.leaving for each in found.values()) == straddling


def test_a_layout_in_racks_names_domains() -> None:
    text = said("gb200_nvl72 { nodes = 24 }", tp=4, cp=8, dp_replicate=3, dp_shard=1, zero=0)
    assert "4 of 12 cp groups straddle 2 NVLink domains" in text


def test_a_slower_network_makes_such_a_tp_slower() -> None:
    """A network of 1 GB/s against one of 25 GB/s: tp 4 in nodes of six waits for it, tp 2 does not."""
    parts = {}
    for rate in (25, 1):
        job = job_on(f"dgx_h100 {{ nodes = 4; gpus_per_node = 6; network = {rate} GB/s }}")
        for tp in (2, 4):
            parts[rate, tp] = parc.estimate(job, {"tp": tp}, "megatron").time["tp"]
    assert parts[1, 4] > 5 * parts[25, 4]
    assert parts[1, 2] < 1.5 * parts[25, 2]


def test_memory_of_groups_on_two_nodes_is_not_joined() -> None:
    job = loads(
        TEXT.replace("CLUSTER", SIX)
        .replace("tokens = 1G", "tokens = 1G; compile = true")
        .replace("megatron {}", "torchtitan { tp_overlap = true }"),
        targets=OPTIONS,
    )
    assert parc.estimate(job, {"tp": 2}, "torchtitan").layout.tp == 2
    with pytest.raises(JobError, match="groups of tp 4 straddle two domains of 6"):
        parc.estimate(job, {"tp": 4}, "torchtitan")
