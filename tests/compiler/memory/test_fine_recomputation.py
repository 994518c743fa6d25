"""Fine recomputation: which outputs a job's layers discard, their bytes by hand, and what repeating takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.compiler.algebra import Arrays
from parc.compiler.case import Case
from parc.compiler.memory import activations
from parc.compiler.model import flops
from parc.compiler.plan import Layout
from parc.compiler.pricing.quantities import recomputed_flops
from parc.compiler.time import kernels, layers, recomputation, step
from parc.compiler.variables import DECISIONS, FINE, WHOLE_MOE
from parc.dsl.model import Model
from tests.support import sample_plans
from tests.support.megatron_plans import DENSE, MOE

DEEPSEEK = sample_plans.DEEPSEEK_V3
LATENT = ("attention_norm", "up_projections")
EXPERTS = ("expert_norm", "expert_activation")
DELAYED = Options(fp8_recipe="delayed")


def case_of(model: Model, options: Options | None = None, **train: Any) -> Case:
    plan = sample_plans.sample_plan(
        "megatron",
        options or Options(),
        model=model,
        train=sample_plans.train_of(**{"global_batch": 8, **train}),
        layout=Layout(dp_shard=8, zero=1),
        gpu=sample_plans.B200,
    )
    return Case(plan.job, BACKEND.target)


@pytest.mark.parametrize(
    ("case", "discarded"),
    [
        (case_of(DENSE), ()),
        (case_of(MOE), EXPERTS),
        (case_of(DEEPSEEK), (*LATENT, "dense_ffn", *EXPERTS)),
        (case_of(MOE, DELAYED, precision="fp8"), ()),
        (case_of(DEEPSEEK, DELAYED, precision="fp8"), ("up_projections", "dense_ffn")),
        (case_of(MOE, precision="fp8"), EXPERTS),
        (case_of(MOE, Options(version="0.15"), precision="nvfp4"), ()),
        (case_of(MOE, Options(version="0.16"), precision="nvfp4"), EXPERTS),
    ],
)
def test_what_layers_discard(case: Case, discarded: tuple[str, ...]) -> None:
    assert case.traits.memory.discarded == discarded
    assert (FINE in case.domains["recompute"]) == (case.model.moe or case.model.mla)


def test_bytes_of_deepseek_v3_by_hand() -> None:
    """Hidden 7168, 128 heads of 128 + 64 and 128, ranks 1536 and 512, 8 experts of 2048; dense 18432."""
    case = case_of(DEEPSEEK)
    attention = 2 * 7168 + 2 * 2 * 128 * 192 + 2 * 128 * 128 + 2 * (1536 + 512 + 64)
    assert activations.attention_discarded(case, 1.0, 1.0) == attention
    assert activations.moe_discarded(case, 1.0, 1.0, 1.0) == 2 * 7168 + 2 * 8 * 2048
    none = activations.dense_bytes(case, 1.0, 1.0)
    kept = activations.ffn_kept(case, none, 1.0, 1.0, FINE, moe=False)
    assert none - kept == 2 * 7168 + 3 * 2 * 18432


def test_tensor_parallelism_divides_all_but_the_compressed() -> None:
    case = case_of(DEEPSEEK)
    whole, half = (activations.attention_discarded(case, tp, 1.0) for tp in (1.0, 2.0))
    compressed = 2 * (1536 + 512 + 64)
    assert half - compressed == (whole - compressed) / 2


def test_what_is_discarded_is_made_again_by_the_same_operations() -> None:
    case, tokens = case_of(DEEPSEEK), 4096.0
    products = sum(
        kernels.matmul(case, tokens, *shape) for shape in ((128 * 192, 1536), (128 * 256, 512))
    )
    moved = tokens * (4 * 7168 + layers.rotary_bytes(case))
    seconds = products + kernels.streamed(case, moved)
    found = recomputation.repeated_attention.function(case, 1.0, 1.0, 1.0, FINE)
    assert found == pytest.approx(1e9 * seconds, rel=1e-9)
    experts = kernels.streamed(case, tokens * (4 * 7168 + layers.GATE_BYTES * 8 * 2048))
    found = recomputation.repeated_moe.function(case, 1.0, tokens, FINE)
    assert found == pytest.approx(1e9 * experts, rel=1e-9)


def test_nothing_else_is_made_again() -> None:
    case = case_of(DEEPSEEK)
    for recompute in (0, 1, 2):
        assert recomputation.repeated_moe.function(case, 1.0, 4096.0, recompute) == 0
        assert recomputation.repeated_dense.function(case, 1.0, 4096.0, recompute) == 0


def columns(recompute: list[int]) -> dict[str, Any]:
    """Columns of layouts that differ by what they recompute."""
    one = {each.name: np.ones(len(recompute), dtype=np.int64) for each in DECISIONS}
    one |= {"recompute": np.array(recompute), "ep": 8 * one["ep"], "dp_shard": 8 * one["ep"]}
    return one | {"tokens": 4096 * one["tp"], "gpus": 8 * one["tp"], "dp": 8 * one["tp"]}


def test_the_whole_moe_half_keeps_its_input_and_repeats_its_forward_pass() -> None:
    """DeepSeek-V3: hidden 7168 in 16 bits; the attention half is as under fine recomputation."""
    case, tokens = case_of(DEEPSEEK), 4096.0
    assert WHOLE_MOE in case.domains["recompute"]
    none = activations.moe_bytes(case, 1.0, tokens, 1.0)
    kept = activations.moe_kept(case, none, 1.0, tokens, 1.0, WHOLE_MOE)
    assert kept == 2 * 7168 * tokens
    halves = [activations.attention_kept(case, 1.0, 1.0, 1.0, mode) for mode in (FINE, WHOLE_MOE)]
    assert halves[0] == halves[1]
    x = Arrays(case, columns(recompute=[FINE, WHOLE_MOE]))
    parts = step.layer_forward_backward(x, "moe")
    fine, whole = parts["recompute"]
    repeated = x.term(step.moe_forward)[0] + x.term(step.expert_forward)[0]
    assert whole - fine == repeated - x.term(recomputation.repeated_moe)[0] > 0


def test_the_whole_moe_half_has_its_price_where_nothing_is_discarded() -> None:
    """Delayed scaling leaves the outputs of experts: the half is repeated all the same."""
    case = case_of(MOE, DELAYED, precision="fp8")
    assert case.traits.memory.discarded == () and WHOLE_MOE in case.domains["recompute"]
    x = Arrays(case, columns(recompute=[0, WHOLE_MOE]))
    none, whole = step.layer_forward_backward(x, "moe")["recompute"]
    assert none == 0 and whole == x.term(step.moe_forward)[1] + x.term(step.expert_forward)[1]


def test_a_dense_model_has_no_moe_half_to_repeat() -> None:
    assert WHOLE_MOE not in case_of(DENSE).domains["recompute"]


def test_hardware_flops_count_what_products_repeat() -> None:
    case = case_of(DEEPSEEK)
    up = 2 * (1536 * 128 * 192 + 512 * 128 * 256)
    dense = 2 * 3 * 7168 * 18432
    wanted = (61 * up + 3 * dense) * case.step_tokens
    none, fine = np.zeros(1), np.array([FINE])
    assert recomputed_flops(case, none, fine) == pytest.approx(wanted)
    assert recomputed_flops(case_of(MOE), none, fine) == 0
    moe = flops.forward(MOE, 1).moe_ffn
    whole = recomputed_flops(case_of(MOE), none, np.array([WHOLE_MOE]))
    assert whole == pytest.approx(moe * case.step_tokens)
