"""Memory against published formulas: activations, parameters per rank, ZeRO's table, batches in flight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.compiler.algebra import Column
from parc.compiler.case import Case
from parc.compiler.memory import activations, model_states
from parc.compiler.pipeline import rank_load
from parc.compiler.pipeline.even_split import Split, ranks_of
from parc.compiler.pipeline.schedule import in_flight
from parc.compiler.plan import Layout
from parc.compiler.traits import StateBytes
from parc.dsl.model import Model
from tests.support import sample_plans
from tests.support.sample_plans import GPT3_175B, LLAMA3_8B, MIXTRAL_8X7B, train_of
from tests.support.solver_and_sweep import job_of

MEGATRON = BACKENDS["megatron"].target


def case_of(model: Model, target: str = "megatron", **train: object) -> Case:
    settings = train_of(**{"seq_len": 2048, "global_batch": 64, "steps": 10, **train})
    job = sample_plans.sample_job(target, model=model, train=settings, nodes=(2,))
    return Case(job, BACKENDS[target].target)


def layer(case: Case, tp: int, micro_batch: int, recompute: int) -> float:
    """Bytes that one dense layer keeps for a micro-batch."""
    tokens = micro_batch * case.seq_len
    attention = activations.attention_kept(case, tp, 1, micro_batch, recompute)
    feed_forward = activations.dense_bytes(case, tp, tokens)
    return float(attention + activations.ffn_kept(case, feed_forward, tp, tokens, recompute, False))


@pytest.mark.parametrize("tp", [1, 2, 8])
@pytest.mark.parametrize("micro_batch", [1, 4])
def test_activations_of_a_layer_are_korthikantis(tp: int, micro_batch: int) -> None:
    """s b h (34 + 5 a s / h) / t, and 34 s b h / t with selective recompute (arXiv 2205.05198, 4.2 and 5)."""
    case = case_of(GPT3_175B, attention="unfused", dropout=0.1)
    volume = case.seq_len * micro_batch * GPT3_175B.hidden / tp
    scores = 5 * GPT3_175B.heads * case.seq_len / GPT3_175B.hidden
    assert layer(case, tp, micro_batch, 0) == pytest.approx(volume * (34 + scores), rel=0.02)
    assert layer(case, tp, micro_batch, 1) == pytest.approx(volume * 34, rel=0.02)
    boundary = float(activations.boundary_bytes(case, tp, micro_batch * case.seq_len))
    assert boundary == 2 * volume


def test_dropout_keeps_a_byte_per_element_and_flash_no_scores() -> None:
    plain, dropping = (case_of(GPT3_175B, dropout=share) for share in (0.0, 0.1))
    masks = 2 * plain.seq_len * GPT3_175B.hidden
    assert layer(dropping, 1, 1, 0) - layer(plain, 1, 1, 0) == masks
    assert layer(plain, 1, 1, 0) == layer(plain, 1, 1, 1)


def test_context_parallelism_divides_activations() -> None:
    case = case_of(LLAMA3_8B, seq_len=8192)
    whole, half = (float(activations.attention_bytes(case, 2, cp, 1)) for cp in (1, 2))
    assert half == whole / 2


def shares(model: Model, counts: tuple[int, ...], pp: int, tp: int, vocab: int) -> list[int]:
    """Parameters of every pipeline rank outside of routed experts."""
    case = case_of(model.model_copy(update={"vocab": vocab}))
    placement = ranks_of(case.model, counts, pp)
    return [rank_load.common_parameters(case, placement, rank, tp) for rank in range(pp)]


# Printed by Megatron-LM (megatron.core 0.20) when it builds the models on the meta device.
@pytest.mark.parametrize(
    ("counts", "tp", "expected"),
    [
        ((16, 16), 4, [1_004_142_592, 1_004_146_688]),
        ((4,) * 8, 2, [1_135_149_056, 872_480_768, 872_480_768, 1_135_153_152]),
        ((7, 9, 9, 7), 1, [2_052_120_576, 1_963_008_000, 1_963_008_000, 2_052_124_672]),
        ((32,), 2, [4_015_263_744]),
        ((32,), 16, [502_534_144]),
        ((32,), 1, [8_030_261_248]),
    ],
    ids=str,
)
def test_parameters_of_ranks_are_megatrons(
    counts: tuple[int, ...], tp: int, expected: list[int]
) -> None:
    assert shares(LLAMA3_8B, counts, len(expected), tp, 128256) == expected


def test_experts_of_a_rank_are_megatrons() -> None:
    """The same build of Mixtral with Llama's vocabulary on tp 2, ep 8."""
    case = case_of(MIXTRAL_8X7B.model_copy(update={"vocab": 128256}))
    placement = ranks_of(case.model, (32,), 1)
    routed = rank_load.expert_parameters(case, placement, 0, 8)
    assert routed == 5_637_144_576
    assert routed + rank_load.common_parameters(case, placement, 0, 2) == 6_834_884_608


def test_a_tied_head_is_held_by_the_first_and_the_last_rank() -> None:
    """The vocabulary table alone: learned positions stay with the first."""
    tied = shares(GPT3_175B, (24,) * 4, 4, 8, 51200)
    free = shares(GPT3_175B.model_copy(update={"tied": False}), (24,) * 4, 4, 8, 51200)
    assert tied == free


@pytest.mark.parametrize(("zero", "gigabytes"), [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_states_are_those_of_the_zero_paper(zero: int, gigabytes: float) -> None:
    """7.5 B parameters over 64 ranks, 2 + 2 + 12 bytes each (arXiv 1910.02054, figure 1)."""

    def state(job: object, stage: int) -> StateBytes:
        return StateBytes(2.0, 2.0, 12.0, stage >= 3, stage >= 2, stage >= 1)

    case = case_of(LLAMA3_8B)
    case = Case(case.job, replace(MEGATRON, traits=MEGATRON.traits.replaced(state=state)))
    widths = model_states.state_widths(case, zero, 64, 0, 1)
    assert 7.5 * float(sum(widths.values())) == pytest.approx(gigabytes, rel=0.005)


def test_offload_leaves_the_gpu_what_it_does_not_take() -> None:
    case = case_of(LLAMA3_8B, "deepspeed")
    columns: dict[str, Column] = {
        "zero": 3, "shard": 8, "offload": np.array([0, 1, 2]), "hpz": 1,
    }  # fmt: skip
    none, optimizer, everything = model_states.state_width(case, columns)
    assert none > optimizer > everything
    host = model_states.host_width(case, columns)
    # stage 3 has the fp32 sum of gradients where the optimizer is
    assert host.tolist() == [0, (12 + 4) * 4096 // 8, (12 + 4 + 2) * 4096 // 8]


def test_stage_two_keeps_its_sums_on_the_gpu() -> None:
    case = case_of(LLAMA3_8B, "deepspeed")
    widths = model_states.state_widths(case, np.array([2, 3]), 8, 1, 1)
    assert np.asarray(widths["gradients"]).tolist() == [4 / 8, 0.0]


def warmed_up(pp: int, vpp: int, microbatches: int, rank: int) -> int:
    """Most chunks in flight, counted by going through the schedule as Megatron-core does."""
    total = microbatches * vpp
    warmup = pp - rank - 1 if vpp == 1 else 2 * (pp - rank - 1) + (vpp - 1) * pp
    steps = ["f"] * min(warmup, total)
    for _ in range(total - min(warmup, total)):
        steps += ["f", "b"]
    steps += ["b"] * min(warmup, total)
    flying = most = 0
    for step in steps:
        flying += 1 if step == "f" else -1
        most = max(most, flying)
    assert flying == 0
    return most


@pytest.mark.parametrize("pp", [1, 2, 4, 16])
@pytest.mark.parametrize("vpp", [1, 2, 5])
@pytest.mark.parametrize("rounds", [1, 2, 8])
def test_micro_batches_in_flight(pp: int, vpp: int, rounds: int) -> None:
    microbatches = pp * rounds
    for rank in range(pp):
        expected = warmed_up(pp, vpp, microbatches, rank) / vpp
        assert in_flight(pp, vpp, microbatches, 0, rank) == pytest.approx(expected)


def test_few_micro_batches_fill_no_pipeline() -> None:
    assert [in_flight(8, 1, 3, 0, rank) for rank in range(8)] == [3, 3, 3, 3, 3, 3, 2, 1]


def test_interleaving_holds_its_known_share_more() -> None:
    """L (1 + (pp - 1) / (pp vpp)) layers on the first rank (arXiv 2104.04473, 2.2)."""
    assert in_flight(8, 4, 64, 0, 0) / 8 == pytest.approx(1 + 7 / (8 * 4))


def placed(case: Case, layout: Layout) -> tuple[Split, dict[str, int]]:
    from parc.compiler.pricing.estimate import one_row
    from parc.compiler.variables import ORDER

    values = {name: getattr(layout, name) for name in ORDER}
    columns = {name: int(np.ravel(value)[0]) for name, value in one_row(case, values).items()}
    return ranks_of(case.model, (8, 8, 8, 8), 4), columns


def test_the_terms_of_a_stage_by_hand() -> None:
    """Llama 3 8B, tp 2, pp 4, dp 2, zero 1, 1F1B: what the second of four ranks holds."""
    from parc.compiler.pricing.ranks import Ranks

    case = case_of(LLAMA3_8B, seq_len=4096)
    layout = Layout(tp=2, pp=4, dp_shard=2, zero=1, microbatches=32, nodes=2)
    placement, columns = placed(case, layout)
    ranks = Ranks(case, columns)
    found = ranks.memory(ranks.load(placement, 1))
    parameters = 872_480_768
    assert found["weights"] == pytest.approx(2 * parameters, rel=1e-3)
    assert found["gradients"] == pytest.approx(4 * parameters, rel=1e-3)
    assert found["optimizer"] == pytest.approx(12 * parameters / 2, rel=1e-3)
    # Elements of 2 bytes: norms in and out 4 h, q and output 2 h, k and v h / 2, gated feed-forward 3 ffn.
    kept = 2 * (6 * 4096 + 4096 // 2 + 3 * 14336) + 4 * 32
    assert found["activations"] == pytest.approx(3 * 8 * 4096 * kept / 2, rel=1e-3)
    assert found["logits"] == 0
    assert (
        found["buffers"] == (2048 + 32) * 2**20
    )  # the driver's and NCCL's reserve, cuBLAS' workspace


def test_only_the_last_rank_holds_logits() -> None:
    from parc.compiler import estimate

    stages = estimate(job_of(), MEGATRON, {"pp": 4, "tp": 2}).stages
    assert [stage.memory["logits"] > 0 for stage in stages] == [False, False, False, True]
    tokens = estimate(job_of(), MEGATRON, {"pp": 4, "tp": 2, "micro_batch": 1}).layout
    assert tokens.cp == 1
    sequence = 2048 * tokens.micro_batch
    expected = (
        # 2 bytes of bf16 logits, 4 of one fp32 copy
        6 * sequence * 32000 / 2
        + 4 * sequence * job_of().model.hidden / 2
    )
    found = estimate(job_of(), MEGATRON, {"pp": 4, "tp": 2, "micro_batch": 1}).stages[-1]
    assert found.memory["logits"] == pytest.approx(expected, rel=1e-3)
