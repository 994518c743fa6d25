"""Weights of quantized products: Transformer Engine's copies, `fp8_params`, and what both cost."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.backends.megatron.quantized_weights import copied_bytes, gathered_bytes, weight_bytes
from parc.compiler import estimate
from parc.compiler.model import parameters
from parc.compiler.plan import Layout
from parc.dsl import std_cluster
from parc.dsl.job import Job
from parc.lint.judging import LintOptions
from parc.lint.run import lint_texts
from tests.support.megatron_plans import DENSE, MOE, plan_of
from tests.support.sample_plans import B200, H100


def job_of(gpu: Any = H100, fp8_params: bool = True, recipe: Any = "delayed", **more: Any) -> Job:
    options = Options(fp8_params=fp8_params, fp8_recipe=recipe)
    return plan_of(layout=Layout(dp_shard=8, zero=1), options=options, gpu=gpu, **more).job


@pytest.mark.parametrize(
    ("job", "copied"),
    [
        (job_of(precision="bf16"), 0.0),
        (job_of(precision="fp8"), 2.0),
        (job_of(B200, precision="fp8"), 1.0),
        (job_of(B200, precision="fp8", recipe="blockwise"), 2.0),
        (job_of(B200, precision="mxfp8"), 2.0625),
        (job_of(B200, precision="nvfp4"), 1.125),
    ],
)
def test_products_keep_copies_beside_weights_in_16_bits(job: Job, copied: float) -> None:
    assert copied_bytes(job, 0) == copied_bytes(job, 3) == copied
    assert weight_bytes(job, 0) == gathered_bytes(job, 2) == 2.0


@pytest.mark.parametrize(
    ("job", "weights", "copied", "gathered"),
    [
        (job_of(precision="fp8"), 2.0, 0.0, 1.0),
        (job_of(precision="fp8", fp8_params=False), 2.0, 2.0, 2.0),
        (job_of(B200, precision="mxfp8"), 2.0, 0.0625, 2.0),
        (job_of(B200, precision="nvfp4"), 2.0, 1.125, 2.0),
    ],
)
def test_the_distributed_optimizer_keeps_weights_in_8_bits(
    job: Job, weights: float, copied: float, gathered: float
) -> None:
    assert weight_bytes(job, 1) == weights
    assert copied_bytes(job, 1) == copied
    assert gathered_bytes(job, 1) == gathered


def test_one_copy_serves_blackwell_and_tables_stay_in_16_bits() -> None:
    job, size = job_of(B200, precision="fp8"), parameters.total(DENSE)
    tables = 2 * DENSE.vocab * DENSE.hidden
    assert weight_bytes(job, 1) * size == pytest.approx(size + tables, rel=1e-4)


@pytest.mark.parametrize("pp", [1, 2])
def test_copies_of_blocks_are_counted_on_every_stage(pp: int) -> None:
    """What fp8 without `fp8_params` holds more than with it is two bytes for each parameter of a block."""
    layout = {"pp": pp, "dp_shard": 8 // pp, "zero": 1}
    plain, kept = (
        estimate(job_of(precision="fp8", fp8_params=on), BACKEND.target, layout)
        for on in (False, True)
    )
    for more, less in zip(plain.stages, kept.stages, strict=True):
        found = more.memory["weights"] - less.memory["weights"]
        expected = 2 * parameters.dense_layer(DENSE).total * sum(more.layers)
        assert found == pytest.approx(expected, rel=1e-3)
    assert plain.time["dp"] > kept.time["dp"]


def test_experts_are_divided_and_copied() -> None:
    held = [
        estimate(
            plan_of(MOE, options=Options(fp8_params=on), precision="fp8").job,
            BACKEND.target,
            {"ep": 8, "dp_shard": 8, "zero": 1},
        ).fullest.memory["weights"]
        for on in (False, True)
    ]
    blocks = parameters.per_rank(parameters.moe_layer(MOE), 1, 8) * MOE.layers
    assert held[0] - held[1] == pytest.approx(2 * blocks, rel=1e-3)


@pytest.mark.parametrize(
    ("layout", "precision", "found"),
    [
        (Layout(dp_shard=8, zero=1), "fp8", {"--fp8-param-gather"}),
        (
            Layout(dp_shard=8, zero=1),
            "mxfp8",
            {"--fp8-param-gather", "--reuse-grad-buf-for-mxfp8-param-ag"},
        ),
        (Layout(dp_shard=8, zero=3), "fp8", set()),
        (Layout(dp_replicate=8), "fp8", set()),
        (Layout(dp_shard=8, zero=1), "nvfp4", set()),
    ],
)
def test_where_it_is_written(layout: Layout, precision: str, found: set[str]) -> None:
    files = BACKEND.emit(plan_of(layout=layout, gpu=B200, precision=precision))
    words = set(files["megatron/pretrain.sh"].split())
    assert {word for word in words if "param-gather" in word or "param-ag" in word} - {
        "--overlap-param-gather"
    } == found


#: Megatron-LM, examples/llama: Llama 3 8B in FP8 on eight H100, by the README's table cp 2, 13,812 tokens per
#: second and GPU.
PUBLISHED = """export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \\
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128 \\
    --seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope --swiglu \\
    --normalization RMSNorm --untie-embeddings-and-output-weights --disable-bias-linear \\
    --attention-dropout 0.0 --hidden-dropout 0.0 --attention-backend fused --vocab-size 128256 \\
    --micro-batch-size 1 --global-batch-size 128 --train-samples 1953125000 --bf16 \\
    --grad-reduce-in-bf16 --fp8-format hybrid --context-parallel-size 2 --mock-data \\
    --tokenizer-type NullTokenizer --use-distributed-optimizer --overlap-grad-reduce \\
    --overlap-param-gather {}
"""


@pytest.mark.parametrize(("options", "codes"), [("--fp8-param-gather", []), ("", ["PAR511"])])
def test_the_published_run_fits_with_weights_in_8_bits(options: str, codes: list[str]) -> None:
    cluster = std_cluster("dgx_h100")
    found = lint_texts(
        {"train.sh": PUBLISHED.format(options)}, LintOptions(cluster=cluster, select=("PAR5",)), {}
    )
    assert [each.diagnostic.code for each in found[0].findings] == codes
