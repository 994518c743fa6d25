"""A job becomes small: the same structure, degrees that matter, a schedule that ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from parc.backends.deepspeed.options import Options
from parc.backends.torchtitan.options import Options as TitanOptions
from parc.compiler.model.parameters import total
from parc.compiler.plan import Layout
from parc.dsl import std_entries, std_model
from parc.dsl.evaluation.consistency import CHECKS
from parc.dsl.evaluation.parts import Parts
from parc.dsl.job import Train
from parc.dsl.model import Model
from parc.smoke import Interpreter, Request, prepare
from parc.smoke.layout import cuts
from parc.smoke.shrink import Room, not_exercised, shrunken
from parc.smoke.small_model import (
    OFFLOADED_LAYERS,
    PARAMETERS,
    SEQUENCE,
    small_model,
    small_train,
)
from tests.support.compiled_examples import EXAMPLES, compiled
from tests.support.sample_plans import (
    DEEPSEEK_V3,
    GPT_125M,
    LLAMA3_8B,
    LLAMA3_405B,
    MIXTRAL_8X7B,
    QWEN3_8B,
    sample_plan,
)

HERE = Interpreter(sys.executable, {"torch": "2", "torchtitan": "0.2.2", "deepspeed": "0"}, 0)
MODELS = (LLAMA3_8B, LLAMA3_405B, GPT_125M, QWEN3_8B, MIXTRAL_8X7B, DEEPSEEK_V3)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("stages", [1, 4])
def test_a_small_model_has_the_same_structure(model: Model, stages: int) -> None:
    small = small_model(model, 4096, stages, SEQUENCE)
    kept = (
        "heads",
        "kv_heads",
        "gated",
        "norm",
        "position",
        "bias",
        "tied",
        "qk_norm",
        "moe",
        "mla",
    )
    assert {name: getattr(small, name) for name in kept} == {
        name: getattr(model, name) for name in kept
    }
    assert small.layers >= stages and total(small, seq_len=SEQUENCE) < 3 * PARAMETERS
    assert small.vocab % 2 == model.vocab % 2 and small.hidden % 16 == 0
    wide = model.hidden == model.heads * model.head_size
    assert model.mla or wide == (small.hidden == small.heads * small.head_size)
    assert Model(**small.model_dump()) == small


STD = [entry.name for entry in std_entries() if entry.kind == "model"]


@pytest.mark.parametrize("name", STD)
@pytest.mark.parametrize("stages", [1, 4])
def test_every_small_model_is_one_that_the_language_takes(name: str, stages: int) -> None:
    """The language's own checks, and that what the model is still acts on so short sequences."""
    model = std_model(name)
    small = small_model(model, 4096, stages, SEQUENCE, OFFLOADED_LAYERS)
    train = small_train(Train(seq_len=4096, global_batch=8, steps=100), 4, SEQUENCE, 4, gpus=False)
    parts = Parts(small, None, train, lambda *path: None, lambda *path: False)
    assert [found.message for check in CHECKS for found in check(parts)] == []
    assert Model(**small.model_dump()) == small
    if small.rope_scaling in ("llama3", "yarn") and small.rope_truncate:
        assert small.rope_original_positions and small.rope_original_positions < SEQUENCE
    if model.full_attention_every:
        assert 1 < small.full_attention_every <= small.layers and small.window
        assert small.window < SEQUENCE
    if model.router_groups and model.router_groups > 1:
        assert small.router_groups and small.router_limited_groups
        assert small.experts // small.router_groups >= 2
        assert small.router_limited_groups < small.router_groups
        assert small.topk % small.router_limited_groups == 0
    if model.mla and model.hidden % model.heads == 0:
        assert small.hidden % small.heads == 0


def test_a_latent_model_keeps_a_width_that_heads_do_not_divide() -> None:
    odd = DEEPSEEK_V3.model_copy(update={"heads": 48, "hidden": 7168})
    assert odd.hidden % odd.heads and small_model(odd, 4096, 1, SEQUENCE).hidden % odd.heads
    even = odd.model_copy(update={"hidden": 48 * 128})
    assert small_model(even, 4096, 1, SEQUENCE).hidden % even.heads == 0


def test_megatron_keeps_the_only_first_length_that_it_has() -> None:
    """Llama 3.1's 8,192 positions are in its code; torchtitan takes any."""
    lengths = {}
    for target in ("megatron", "torchtitan"):
        plan = sample_plan(target, model=std_model("llama3_1_8b"), layout=Layout(microbatches=2))
        options = BACKENDS[target].target.options()
        small = shrunken(plan, BACKENDS[target].target, Room(1, 4), options)
        assert small is not None and small.job.model.rope_scaling == "llama3"
        lengths[target] = small.job.model.rope_original_positions or 0
    assert lengths["megatron"] == 8192 and lengths["torchtitan"] < SEQUENCE


def test_states_in_host_memory_make_a_job_shallower() -> None:
    """57 layers that each wait for their weights did not end in time."""
    deep = GPT_125M.model_copy(update={"layers": 57})
    assert small_model(deep, 2048, 1, SEQUENCE).layers > 25
    assert small_model(deep, 2048, 1, SEQUENCE, OFFLOADED_LAYERS).layers <= OFFLOADED_LAYERS
    offloaded = sample_plan(
        "deepspeed", model=deep, layout=Layout(dp_shard=2, zero=3, offload=2, microbatches=2)
    )
    small = shrunken(offloaded, BACKENDS["deepspeed"].target, Room(2, 4), Options())
    assert small is not None and small.job.model.layers <= OFFLOADED_LAYERS


def test_a_small_training_ends_its_schedule_and_says_what_it_leaves_out() -> None:
    train = Train(
        seq_len=4096, global_batch=8, steps=1000, schedule="wsd", decay_steps=300, warmup=500,
        ramp_from=2, ramp_tokens=10**6, weights="/models/llama", async_checkpoints=True,
    )  # fmt: skip
    for steps in (2, 3, 8):
        small = small_train(train, steps, SEQUENCE, 4, gpus=False)
        assert small.warmup_steps + small.wsd_steps <= steps and small.warmup_steps < steps
        assert (small.weights, small.ramp_from, small.async_checkpoints) == (None, None, False)
    plan = sample_plan("deepspeed", train=train)
    lost = " ".join(not_exercised(plan, plan, gpus=False))
    assert all(word in lost for word in ("/models/llama", "grows from 2", "async_checkpoints"))


def test_layers_stay_uneven_and_all_while_they_are_affordable() -> None:
    assert small_model(GPT_125M, 2048, 1, SEQUENCE).layers == 12
    assert small_model(LLAMA3_405B, 8192, 4, SEQUENCE).layers % 4 != 0
    assert small_model(LLAMA3_8B, 8192, 4, SEQUENCE).layers % 4 == 0


def test_windows_and_positions_follow_the_length() -> None:
    windowed = LLAMA3_8B.model_copy(update={"window": 1024, "max_positions": 8192})
    small = small_model(windowed, 4096, 1, 2 * SEQUENCE)
    assert small.window == SEQUENCE // 2 and small.max_positions == 2 * SEQUENCE
    assert small_model(windowed, 1024, 1, SEQUENCE).window == SEQUENCE


def test_a_cpu_trains_in_bf16() -> None:
    train = Train(seq_len=4096, global_batch=8, tokens=10**9, precision="fp8", compile=True)
    small = small_train(train, 6, SEQUENCE, 4, gpus=False)
    assert (small.precision, small.compile, small.total_steps) == ("bf16", False, 6)
    on_gpus = small_train(train, 6, SEQUENCE, 4, gpus=True)
    assert (on_gpus.precision, on_gpus.compile) == ("fp8", True)


BIG = Layout(tp=8, pp=4, vpp=2, dp_shard=16, zero=1, micro_batch=4, microbatches=32)


@pytest.mark.parametrize(
    ("processes", "degrees"),
    [
        (1, (1, 1, 1)),
        (2, (2, 1, 1)),
        (4, (2, 2, 1)),
        (8, (2, 2, 2)),
        (16, (4, 2, 2)),
        (1000, (4, 8, 16)),
    ],
)
def test_the_most_telling_degrees_are_kept(processes: int, degrees: tuple[int, int, int]) -> None:
    best = cuts(BIG, processes)[0]
    assert (best.pp, best.tp, best.dp_shard) == degrees
    assert best.gpus <= processes and best.nodes == 1 and best.micro_batch == 2
    assert best.vpp == (2 if best.pp > 1 else 1)


def test_every_cut_divides_the_layout_and_fits() -> None:
    layout = Layout(tp=6, dp_replicate=3, dp_shard=4, cp=2, ep=4, etp=1, zero=3)
    for cut in cuts(layout, 8):
        assert cut.gpus <= 8
        for name in ("tp", "dp_replicate", "dp_shard", "cp", "ep"):
            assert getattr(layout, name) % getattr(cut, name) == 0


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("processes", [2, 8])
def test_every_example_can_be_shrunk(example: str, processes: int, tmp_path: Path) -> None:
    for plan in compiled(example).plans:
        folder = tmp_path / plan.target
        folder.mkdir()
        ready = prepare(plan, Request(HERE, processes, 5), folder)
        assert ready is not None
        small = ready.plan.layout
        assert small.gpus <= processes and small.recompute == plan.layout.recompute
        assert ready.plan.job.train.total_steps == 5
        assert (folder / BACKENDS[plan.target].entry).exists()
        assert any("full width" in text for text in not_exercised(plan, ready.plan, gpus=False))


def test_a_job_that_no_cut_makes_runnable_has_none() -> None:
    plan = sample_plan("deepspeed", layout=Layout(dp_shard=8, zero=1, microbatches=16))
    unknown = Options(extra={"zero_optimisation.stage": 1})
    assert shrunken(plan, BACKENDS["deepspeed"].target, Room(2, 4), unknown) is None


def test_context_parallelism_gets_sequences_that_are_cut() -> None:
    layout = Layout(cp=4, dp_shard=2, zero=3, microbatches=2)
    train = Train(seq_len=16384, global_batch=4, steps=9)
    options = TitanOptions(version="0.3")
    plan = sample_plan("torchtitan", options, layout=layout, train=train)
    small = shrunken(plan, BACKENDS["torchtitan"].target, Room(4, 4), options)
    assert small is not None and small.layout.cp == 2
    assert small.job.train.seq_len == 2 * SEQUENCE
