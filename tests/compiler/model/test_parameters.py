"""Parameter and FLOP counts against what Megatron-LM prints and what the models' authors published."""

import csv

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.model import flops, parameters
from parc.compiler.model.parameters import Counts
from parc.compiler.pipeline.even_split import split
from parc.compiler.pipeline.rank_load import rank_counts
from parc.dsl import std_entries, std_model
from parc.dsl.model import Model
from tests.support.paths import CASES
from tests.support.sample_plans import sample_plan

PUBLISHED = list(csv.DictReader((CASES / "published_parameters.csv").open()))

LLAMA3_8B = Model(layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256)
MIXTRAL = LLAMA3_8B.model_copy(update={"vocab": 32000, "experts": 8, "topk": 2})
GPT3 = Model(
    layers=96,
    hidden=12288,
    heads=96,
    ffn=49152,
    vocab=51200,
    gated=False,
    norm="layernorm",
    bias=True,
    position="learned",
    max_positions=2048,
    tied=True,
)
DEEPSEEK_V3 = Model(
    layers=61,
    hidden=7168,
    heads=128,
    ffn=18432,
    vocab=129280,
    experts=256,
    topk=8,
    expert_ffn=2048,
    shared_experts=1,
    dense_layers=3,
    q_lora_rank=1536,
    kv_lora_rank=512,
    qk_nope_head_dim=128,
    qk_rope_head_dim=64,
    v_head_dim=128,
    mtp_layers=1,
)


def first_stage(model: Model, layers: int, tp: int) -> Counts:
    """A stage with the embedding and so many dense layers."""
    vocab = int(np.asarray(parameters.padded_vocab(model, tp)))
    return parameters.dense_layer(model) * layers + parameters.embedding(model, vocab)


def last_stage(model: Model, layers: int, tp: int) -> Counts:
    vocab = int(np.asarray(parameters.padded_vocab(model, tp)))
    return parameters.dense_layer(model) * layers + parameters.head(model, vocab)


# Printed by Megatron-LM (megatron.core 0.20) when it builds the models on the meta device.
@pytest.mark.parametrize(
    ("counts", "tp", "expected"),
    [
        pytest.param(first_stage(LLAMA3_8B, 16, 4), 4, 1_004_142_592, id="tp4-pp2-first"),
        pytest.param(last_stage(LLAMA3_8B, 16, 4), 4, 1_004_146_688, id="tp4-pp2-last"),
        pytest.param(first_stage(LLAMA3_8B, 8, 2), 2, 1_135_149_056, id="tp2-pp4-first"),
        pytest.param(parameters.dense_layer(LLAMA3_8B) * 8, 2, 872_480_768, id="tp2-pp4-middle"),
        pytest.param(last_stage(LLAMA3_8B, 8, 2), 2, 1_135_153_152, id="tp2-pp4-last"),
        pytest.param(first_stage(LLAMA3_8B, 7, 1), 1, 2_052_120_576, id="pp4-7-9-9-7-first"),
        pytest.param(
            parameters.dense_layer(LLAMA3_8B) * 9, 1, 1_963_008_000, id="pp4-7-9-9-7-middle"
        ),
        pytest.param(last_stage(LLAMA3_8B, 7, 1), 1, 2_052_124_672, id="pp4-7-9-9-7-last"),
        pytest.param(
            first_stage(LLAMA3_8B, 32, 2) + last_stage(LLAMA3_8B, 0, 2),
            2,
            4_015_263_744,
            id="tp2-cp2",
        ),
        pytest.param(
            first_stage(LLAMA3_8B, 32, 16) + last_stage(LLAMA3_8B, 0, 16),
            16,
            502_534_144,
            id="tp16",
        ),
    ],
)
def test_dense_stages_hold_what_megatron_builds(counts: Counts, tp: int, expected: int) -> None:
    assert parameters.per_rank(counts, tp, 1) == expected


def test_experts_are_divided_by_their_own_degrees() -> None:
    model = MIXTRAL.model_copy(update={"vocab": 128256})
    whole = parameters.blocks(model) + parameters.embedding(model) + parameters.head(model)
    assert parameters.per_rank(whole, tp=2, expert_ways=8) == 6_834_884_608
    assert parameters.per_rank(Counts(experts=whole.experts), 2, 8) == 5_637_144_576


def test_division_works_on_arrays_and_rounds_up() -> None:
    counts = Counts(sharded=10, replicated=3, experts=9)
    shares = parameters.per_rank(counts, np.array([1, 2, 4]), np.array([1, 3, 4]))
    assert np.asarray(shares).tolist() == [22, 11, 9]


def test_padded_vocabulary_is_megatrons() -> None:
    padded = parameters.padded_vocab(LLAMA3_8B, np.array([1, 2, 4, 8, 16]))
    assert np.asarray(padded).tolist() == [128256, 128256, 128512, 129024, 129024]


# Printed by Megatron-LM's num_floating_point_operations, per token.
@pytest.mark.parametrize(
    ("model", "seq_len", "vocab", "expected"),
    [
        (LLAMA3_8B, 4096, None, 4.824918e10),
        (LLAMA3_8B, 8192, None, 5.147040e10),
        (LLAMA3_8B, 4096, 128512, 4.825547e10),
        (MIXTRAL, 4096, None, 7.970646e10),
        (GPT3, 2048, 51200, 1.061947e12),
        (DEEPSEEK_V3, 4096, None, 2.599930e11),
    ],
)
def test_flops_per_token_are_megatrons(
    model: Model, seq_len: int, vocab: int | None, expected: float
) -> None:
    assert f"{flops.training(model, seq_len, vocab).total:.6e}" == f"{expected:.6e}"


def test_parts_of_the_flops_add_up() -> None:
    parts = flops.forward(DEEPSEEK_V3, 4096)
    assert parts.dense_ffn == 3 * flops.dense_ffn(DEEPSEEK_V3)
    assert parts.moe_ffn == 58 * flops.moe_ffn(DEEPSEEK_V3)
    assert flops.training(DEEPSEEK_V3, 4096).total == 3 * parts.total
    assert flops.forward(LLAMA3_8B, 4096).mtp == 0


def test_full_attention_counts_the_masked_half_too() -> None:
    halved, full = (flops.forward(LLAMA3_8B, 4096, convention=kind) for kind in ("halved", "full"))
    assert full.attention_core == 2 * halved.attention_core
    assert full.total - full.attention_core == halved.total - halved.attention_core


def test_a_window_bounds_the_keys_a_query_sees() -> None:
    model = LLAMA3_8B.model_copy(update={"window": 1024})
    seen = [sum(min(query + 1, 1024) for query in range(length)) / length for length in (512, 4096)]
    counted = flops.keys_seen(model, np.array([512, 4096]))
    assert counted == pytest.approx(seen, rel=2e-3)
    assert flops.keys_seen(model, 4096, "full") == 1024


@pytest.mark.parametrize("every", [0, 2, 3, 4, 7, 40])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [256, 1024, 2500])
def test_layers_that_see_all_keys_among_windows(every: int, causal: bool, length: int) -> None:
    """The mean over layers counted from 1, of the keys that each query sees, one by one."""
    window = 1024
    model = LLAMA3_8B.model_copy(
        update={"window": window, "full_attention_every": every, "causal": causal, "layers": 30}
    )
    seen = [
        sum(min(query + 1, width) if causal else min(width, length) for query in range(length))
        / length
        for layer in range(1, model.layers + 1)
        for width in [length if every and layer % every == 0 else window]
    ]
    assert flops.keys_seen(model, length) == pytest.approx(sum(seen) / len(seen), rel=5e-3)


@pytest.mark.parametrize("row", PUBLISHED, ids=[row["model"] for row in PUBLISHED])
def test_totals_are_the_published_ones(row: dict[str, str]) -> None:
    counted = parameters.total(std_model(row["model"]))
    assert_agrees(counted, float(row["total"]), float(row["total_unit"]))


@pytest.mark.parametrize(
    "row", [row for row in PUBLISHED if row["active"]], ids=lambda row: row["model"]
)
def test_actives_are_the_published_ones(row: dict[str, str]) -> None:
    model = std_model(row["model"])
    counted = parameters.active(model)
    if row["active_without_embedding"] == "yes":
        counted -= parameters.embedding(model).total
    assert_agrees(counted, float(row["active"]), float(row["active_unit"]))


def assert_agrees(counted: int, published: float, unit: float) -> None:
    """Exact where weights were counted, else within 0.5 % or one unit of the last printed digit."""
    tolerance = 0 if unit == 1 else max(0.005 * published, unit)
    assert abs(counted - published) <= tolerance


def test_every_model_of_the_library_has_a_published_count() -> None:
    models = {entry.name for entry in std_entries() if entry.kind == "model"}
    assert {row["model"] for row in PUBLISHED} == models


def test_deepseek_v3_weights_to_the_unit() -> None:
    """Its files store 680,571,043,840 fp8 and 3,918,786,560 bf16 weights; MTP repeats embedding and head."""
    model = std_model("deepseek_v3")
    tables = 2 * model.vocab * model.hidden
    stored = parameters.total(model) + parameters.mtp(model).total + tables
    assert stored == 680_571_043_840 + 3_918_786_560


def test_dense_models_are_wholly_active() -> None:
    assert parameters.active(LLAMA3_8B) == parameters.total(LLAMA3_8B)


def test_biases_are_where_megatron_has_them() -> None:
    """One per expert in the router, and latent attention's output projection: counted in built stages."""
    plain = parameters.moe_layer(DEEPSEEK_V3)
    biased = parameters.moe_layer(
        DEEPSEEK_V3.model_copy(update={"bias": True, "shared_experts": 0})
    )
    without = parameters.moe_layer(DEEPSEEK_V3.model_copy(update={"shared_experts": 0}))
    model = DEEPSEEK_V3
    assert biased.replicated - without.replicated == model.experts + model.hidden
    assert plain.replicated == without.replicated


def test_a_last_stage_has_a_table_for_the_tied_output_and_one_for_the_predictions() -> None:
    """Megatron-core builds both where the first stage is another rank's."""
    found = {}
    for tied in (False, True):
        for depth in (0, 1):
            changed = {"tied": tied, "mtp_layers": depth, "layers": 4}
            model = LLAMA3_8B.model_copy(update=changed)
            case = Case(sample_plan("megatron", model=model).job, BACKENDS["megatron"].target)
            placement = split(model, 2, 1)
            counts = rank_counts(case, placement, 1, 1)
            layer = parameters.dense_layer(model).total
            blocks = placement.held(1)[0] * layer + parameters.mtp(model).total
            found[tied, depth] = counts.total - blocks - model.hidden
    table = LLAMA3_8B.hidden * LLAMA3_8B.vocab
    assert found == {
        (False, 0): table,
        (False, 1): 2 * table,
        (True, 0): table,
        (True, 1): 2 * table,
    }
