"""Shapes of published measurements: figures of Narayanan et al. 2021 (SC21, arXiv 2104.04473) as they fall
out of prices, table 2 from its rows, and ZeRO's memory table (Rajbhandari et al. 2020) by arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import pytest

from benchmarks.accuracy import accuracy
from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.memory.model_states import state_widths
from parc.compiler.plan import Estimate
from parc.compiler.pricing.estimate import estimate_layout
from parc.compiler.traits import StateBytes
from parc.compiler.variables import NEUTRAL, ORDER
from parc.dsl import std_cluster, std_gpu
from parc.dsl.job import Job, TargetSpec, Train
from parc.dsl.model import Model

FULL = 2
#: Narayanan et al. 2021, figures 13 to 15: all ways to divide 64 GPUs by two.
WAYS = ((2, 32), (4, 16), (8, 8), (16, 4), (32, 2))
BATCHES = (32, 128, 512)


@cache
def model(layers: int, hidden: int, heads: int) -> Model:
    return Model(
        name="gpt",
        layers=layers,
        hidden=hidden,
        heads=heads,
        ffn=4 * hidden,
        vocab=51200,
        gated=False,
        norm="layernorm",
        position="learned",
        bias=True,
        tied=True,
    )


GPT_6B, GPT_162B = model(32, 3840, 32), model(32, 20480, 128)
GPT_145B, GPT_175B = model(80, 12288, 96), model(96, 12288, 96)


@cache
def case(gpt: Model, gpus: int, batch: int) -> Case:
    """A run of the paper: A100 nodes, fp16, unfused attention and dropout, collectives without sequence
    parallelism, gradients reduced after the backward pass."""
    target = BACKENDS["megatron"].target
    cluster = std_cluster("dgx_a100").model_copy(update={"nodes": (gpus // 8,)})
    train = Train(
        seq_len=2048,
        global_batch=batch,
        steps=1,
        precision="fp16",
        attention="unfused",
        dropout=0.1,
    )
    spec = TargetSpec(name="megatron", options=target.options())
    traits = target.traits.replaced(sequence_parallel=False, gradient_reduction=False)
    job = Job(
        name=gpt.name, path="", digest="", model=gpt, cluster=cluster, train=train, targets=(spec,)
    )
    return Case(job, replace(target, traits=traits))


def priced(gpt: Model, gpus: int, batch: int, **layout: int) -> Estimate:
    named: Mapping[str, int] = {**NEUTRAL, "nodes": gpus // 8, "recompute": FULL, **layout}
    return estimate_layout(case(gpt, gpus, batch), {name: named[name] for name in ORDER})


def speed(gpt: Model, gpus: int, batch: int, **layout: int) -> float:
    """Sequences per second and GPU."""
    return batch / priced(gpt, gpus, batch, **layout).step_seconds / gpus


# --- one job, many layouts ---


@pytest.mark.parametrize("batch", [32, 128])
def test_tensor_parallelism_as_wide_as_a_node_suits_a_large_model_best(batch: int) -> None:
    """Figure 13: 162.2 B parameters on 64 GPUs, tp times pp 64."""
    found = {(pp, tp): speed(GPT_162B, 64, batch, pp=pp, tp=tp) for pp, tp in WAYS}
    assert max(found, key=lambda ways: found[ways]) == (8, 8)


@pytest.mark.parametrize("batch", BATCHES)
def test_a_pipeline_costs_a_small_model_speed(batch: int) -> None:
    """Figure 14: 5.9 B parameters on 64 GPUs, pp times dp 64."""
    found = [speed(GPT_6B, 64, batch, pp=pp) for pp, dp in WAYS if batch % dp == 0]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("batch", BATCHES)
def test_tensor_parallelism_across_nodes_is_slow(batch: int) -> None:
    """Figure 15: 5.9 B parameters on 64 GPUs, tp times dp 64; 16 and 32 leave the node."""
    found = {tp: speed(GPT_6B, 64, batch, tp=tp) for tp, dp in WAYS if batch % dp == 0}
    widths = sorted(found)
    assert all(found[a] > found[b] for a, b in zip(widths, widths[1:], strict=False))
    assert found[16] < 0.7 * found[8]
    assert found[32] < 0.6 * found[16]


# --- pipelines ---


def per_gpu(pp: int, batch: int) -> float:
    """Layers times sequences per second and GPU in figure 11: three layers of 20,480 on each stage, tp 8."""
    return 3 * pp * speed(model(3 * pp, 20480, 128), 8 * pp, batch, tp=8, pp=pp)


def test_a_long_pipeline_wants_a_large_batch() -> None:
    """Figure 11: weak scaling from one stage to eight."""
    small, large = (per_gpu(8, batch) / per_gpu(1, batch) for batch in (8, 128))
    assert small < 0.65
    assert large > 0.9


def test_interleaving_helps_most_at_small_batch() -> None:
    """Figure 12: 175 B parameters on 96 GPUs, two chunks for each stage."""

    def gain(batch: int) -> float:
        plain, chunked = (speed(GPT_175B, 96, batch, tp=8, pp=12, vpp=vpp) for vpp in (1, 2))
        return chunked / plain

    gains = [gain(batch) for batch in (12, 24, 36, 48, 60)]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 1.2
    assert gains[-1] > 1.0


def test_recompute_pays_where_it_allows_a_larger_batch() -> None:
    """Figure 17: 145 B parameters on 128 GPUs, tp 8, pp 16. By the paper's own formulas all activations fit
    80 GB, where its runs ended before; on cards of 40 GB the memory ends as the figure does."""
    batches = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    limit = std_gpu("a100_40").memory

    def fitting(recompute: int) -> dict[int, float]:
        found = {n: priced(GPT_145B, 128, n, tp=8, pp=16, recompute=recompute) for n in batches}
        return {n: n / it.step_seconds for n, it in found.items() if it.memory_bytes <= limit}

    kept, repeated = fitting(0), fitting(FULL)
    assert max(kept) < max(repeated)
    assert all(repeated[batch] < kept[batch] < 1.4 * repeated[batch] for batch in kept)
    assert max(repeated.values()) > 1.8 * max(kept.values())


# --- against ZeRO 3 ---

#: GPUs of a row of table 2 with pipelines, and of the one with ZeRO 3 beside it.
RIVALS = ((384, 384), (768, 768), (1536, 1536), (560, 640), (1120, 1120), (2240, 2240))


@cache
def table_2() -> dict[tuple[bool, int], tuple[float, float]]:
    """(ZeRO 3, GPUs) -> measured and predicted GPU-seconds per sequence."""
    runs = accuracy.score(accuracy.DATA, "SC21 Table 2").runs
    found = {}
    for run in runs:
        share = (run.row.gpus or 0) / (run.row.gbs or 1)
        times = (run.measured or 0.0) * share, run.prediction.seconds * share
        found[run.row.zero_stage == 3, run.row.gpus or 0] = times
    return found


@pytest.mark.parametrize(("ptdp", "zero"), RIVALS)
def test_pipelines_beat_zero_3_by_what_table_2_says(ptdp: int, zero: int) -> None:
    rows = table_2()
    measured, predicted = (rows[True, zero][k] / rows[False, ptdp][k] for k in (0, 1))
    assert measured > 1
    assert predicted == pytest.approx(measured, rel=0.15)


# --- memory ---

#: Guides count 8 bytes of optimizer states beside 16-bit weights and gradients.
BYTES = {"weights": 2.0, "gradients": 2.0, "optimizer": 8.0}
STAGES = {"optimizer": 1, "gradients": 2, "weights": 3}


def gigabytes(width: Mapping[str, float]) -> float:
    return round(7 * sum(width.values()), 2)


def paper_state(job: Job, zero: int) -> StateBytes:
    return StateBytes(
        weights=BYTES["weights"],
        gradients=BYTES["gradients"],
        optimizer=BYTES["optimizer"],
        weights_sharded=zero >= STAGES["weights"],
        gradients_sharded=zero >= STAGES["gradients"],
        optimizer_sharded=zero >= STAGES["optimizer"],
    )


def widths(traits_state: Callable[[Job, int], StateBytes], zero: int) -> dict[str, float]:
    base = case(GPT_6B, 8, 32)
    traits = base.traits.replaced(state=traits_state)
    asked = Case(base.job, replace(base.target, traits=traits))
    return {name: float(value) for name, value in state_widths(asked, zero, 4, 0, 1).items()}


#: Rows of BigScience's A100 sweeps alike but for their heads: 96 of 144, 128 of 108.
HEADS = (("0054", "0055"), ("0093", "0094"), ("0096", "0097"), ("0098", "0099"))


def test_heads_that_tensor_cores_cannot_take_are_as_slow_as_measured() -> None:
    runs = {run.row.id[-4:]: run for run in accuracy.score(accuracy.DATA, "BigScience tr11").runs}
    for even, odd in HEADS:
        slower = (runs[odd].measured or 0.0) / (runs[even].measured or 1.0)
        predicted = runs[odd].prediction.seconds / runs[even].prediction.seconds
        assert slower > 1.3 and predicted == pytest.approx(slower, rel=0.03)


def test_layers_take_what_korthikanti_measured() -> None:
    """Korthikanti et al. 2022, table 4: a layer of 22B over eight A100, with and without sequence parallelism
    and recomputation."""
    runs = accuracy.score(accuracy.DATA, "Korthikanti 2205.05198 Table 4").runs
    assert len(runs) == 5 and all(abs(run.error) < 0.04 for run in runs)


@pytest.mark.parametrize(
    ("zero", "on_paper", "in_truth"),
    [(0, 84.0, 112.0), (1, 42.0, 63.0), (2, 31.5, 42.0), (3, 21.0, 31.5)],
)
def test_zero_divides_7b_over_four_gpus(zero: int, on_paper: float, in_truth: float) -> None:
    """The table of guides with 2 + 2 + 8 bytes per parameter, and what DeepSpeed holds: 12 bytes of optimizer
    states, and from stage 1 on fp32 gradients."""
    assert gigabytes(widths(paper_state, zero)) == on_paper
    assert gigabytes(widths(BACKENDS["deepspeed"].target.traits.memory.state, zero)) == in_truth
