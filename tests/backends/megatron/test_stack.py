"""Kernels and traffic under `target megatron`: emitted, read back, priced, refused where they disagree."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.megatron import BACKEND
from parc.backends.megatron.option_rows import ROWS
from parc.backends.megatron.options import Options
from parc.backends.megatron.read import READER
from parc.backends.megatron.transformer_engine import recipe_of
from parc.compiler import estimate
from parc.compiler.plan import Layout
from parc.dsl.diagnostics import Diagnostic
from parc.dsl.hardware import Gpu
from parc.dsl.model import Model
from parc.dsl.settings import Data
from parc.lint.unexpressed import unexpressed
from tests.support.megatron_plans import DENSE, MOE, plan_of, with_model
from tests.support.sample_plans import A100, B200, DEEPSEEK_V3, H100, MI300X

LAYOUT = Layout(tp=2, dp_shard=4, zero=1)
CASES: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {
    "grad_dtype": ({"grad_dtype": "bf16"}, {"--grad-reduce-in-bf16"}, set()),
    "tp_overlap": ({"tp_overlap": False}, set(), {"--tp-comm-overlap"}),
    "sequence_parallel": (
        {"sequence_parallel": False},
        set(),
        {"--sequence-parallel", "--tp-comm-overlap"},
    ),
    "dp_overlap": (
        {"dp_overlap": False},
        set(),
        {"--overlap-grad-reduce", "--overlap-param-gather"},
    ),
    "attention_kernel": ({"attention_kernel": "fa3"}, {"--flash-attention-version"}, set()),
    "moment_dtype": (
        {"moment_dtype": "bf16"},
        {"--use-precision-aware-optimizer", "--exp-avg-dtype", "--exp-avg-sq-dtype"},
        set(),
    ),
    "loss_kernel": ({"loss_kernel": "eager"}, set(), {"--cross-entropy-loss-fusion"}),
    "cuda_graph": (
        {"cuda_graph": True},
        {"--cuda-graph-impl", "--te-rng-tracker", "--no-check-for-nan-in-loss-and-grad"},
        {"--tp-comm-overlap"},
    ),
}


def script(options: Options, layout: Layout = LAYOUT) -> str:
    return BACKEND.emit(plan_of(layout=layout, options=options))["megatron/pretrain.sh"]


def words(options: Options, layout: Layout = LAYOUT) -> set[str]:
    return {word for word in script(options, layout).split() if word.startswith("--")}


def priced(gpu: Gpu = H100, **settings: Any) -> Any:
    plan = plan_of(layout=LAYOUT, options=Options(**settings), gpu=gpu)
    return estimate(plan.job, BACKEND.target, {"tp": 2, "zero": 1})


def problems(settings: dict[str, Any], **more: Any) -> list[Diagnostic]:
    plan = plan_of(layout=LAYOUT, options=Options(**settings), **more)
    return BACKEND.target.refuses(plan.job)


@pytest.mark.parametrize("case", CASES)
def test_it_is_emitted_and_read_back(case: str) -> None:
    settings, added, dropped = CASES[case]
    plain, changed = words(Options()), words(Options(**settings))
    assert (changed - plain, plain - changed) == (added, dropped)
    files = BACKEND.emit(plan_of(layout=LAYOUT, options=Options(**settings)))
    (config,) = read_jobs(files)
    read = READER.options(config)
    wanted = {"tp_overlap": "--tp-comm-overlap" in changed} | settings
    assert {name: read.get(name) for name in CASES} == {name: wanted.get(name) for name in CASES}
    assert not unexpressed(config)


@pytest.mark.parametrize(
    ("precision", "chosen", "fused"),
    [
        ("bf16", None, True),
        ("fp16", None, False),
        ("fp16", "fused", True),
        ("bf16", "eager", False),
    ],
)
def test_the_loss_is_fused_where_its_gradient_is_no_coarser(
    precision: Any, chosen: Any, fused: bool
) -> None:
    plan = plan_of(layout=LAYOUT, options=Options(loss_kernel=chosen), precision=precision)
    files = BACKEND.emit(plan)
    assert ("--cross-entropy-loss-fusion" in files["megatron/pretrain.sh"]) is fused
    (config,) = read_jobs(files)
    assert READER.options(config).get("loss_kernel") == chosen


def test_short_gradients_take_half_the_memory_and_half_the_traffic() -> None:
    plain, short = priced(), priced(grad_dtype="bf16")
    memory, less = plain.fullest.memory, short.fullest.memory
    assert less["gradients"] == pytest.approx(memory["gradients"] / 2, rel=1e-6)
    assert less["activations"] == memory["activations"]
    assert short.time["dp"] < plain.time["dp"]


def test_whole_sequences_take_more_memory_and_the_same_traffic() -> None:
    plain, whole = priced(tp_overlap=False), priced(sequence_parallel=False)
    assert whole.fullest.memory["activations"] > plain.fullest.memory["activations"]
    assert whole.fullest.memory["weights"] == plain.fullest.memory["weights"]
    assert whole.time["tp"] < 1.1 * plain.time["tp"]


def test_overlap_hides_what_it_overlaps() -> None:
    plain = priced()
    assert priced(tp_overlap=False).time["tp"] > plain.time["tp"]
    assert priced(dp_overlap=False).time["dp"] > plain.time["dp"]
    assert priced(dp_overlap=False).time["tp"] == plain.time["tp"]


def test_a_kernel_is_priced_by_what_it_reaches_on_the_gpu() -> None:
    hopper = [priced(attention_kernel=kernel).step_seconds for kernel in ("cudnn", "fa3", "fa2")]
    assert hopper[0] == hopper[1] < hopper[2]
    ampere = [priced(A100, attention_kernel=kernel).step_seconds for kernel in ("cudnn", "fa2")]
    assert ampere[0] == ampere[1]


def test_a_graph_leaves_the_host_nothing_to_launch() -> None:
    plain, graphed = priced(), priced(cuda_graph=True)
    assert graphed.step_seconds < plain.step_seconds
    assert graphed.fullest.memory == plain.fullest.memory


def test_amd_leaves_the_choice_to_its_own_transformer_engine() -> None:
    plan = plan_of(layout=LAYOUT, gpu=MI300X)
    assert "--attention-backend auto" in BACKEND.emit(plan)["megatron/pretrain.sh"]


def test_a_layout_without_tensor_parallelism_has_none_to_overlap() -> None:
    assert "--tp-comm-overlap" not in words(Options(tp_overlap=True), Layout(dp_shard=8, zero=1))


@pytest.mark.parametrize(
    ("more", "overlapped"),
    [
        ({}, True),
        ({"precision": "fp8"}, True),
        ({"precision": "fp16"}, False),
        ({"precision": "mxfp8", "gpu": B200}, False),
        ({"gpu": A100}, False),
        ({"model": MOE}, False),
        ({"seq_len": 4098}, False),
        ({"options": Options(cuda_graph=True)}, False),
        ({"options": Options(tp_overlap=True), "gpu": A100}, True),
    ],
)
def test_traffic_is_overlapped_where_buffers_are_known_to_fit(
    more: dict[str, Any], overlapped: bool
) -> None:
    found = BACKEND.emit(plan_of(layout=LAYOUT, **more))["megatron/pretrain.sh"]
    assert ("--tp-comm-overlap" in found) is overlapped


def test_fp16_has_no_sums_in_bf16() -> None:
    (said,) = problems({"grad_dtype": "bf16"}, precision="fp16")
    assert said.code == "PAR395" and "fp16" in said.message
    assert not problems({"grad_dtype": "bf16"})


@pytest.mark.parametrize(("precision", "width"), [("bf16", 6), ("fp8", 8)])
def test_short_moments_take_half(precision: str, width: float) -> None:
    held = [
        estimate(
            plan_of(layout=LAYOUT, options=Options(moment_dtype=each), precision=precision).job,
            BACKEND.target,
            {"tp": 2, "zero": 1},
        ).fullest.memory["optimizer"]
        for each in ("fp32", "bf16")
    ]
    assert held[1] / held[0] == pytest.approx(width / 12, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "update"),
    [
        ({"moment_dtype": "bf16", "version": "0.16"}, 8.0),
        ({"moment_dtype": "bf16"}, 0.0),
        ({"moment_dtype": "bf16", "grad_dtype": "bf16"}, 0.0),
        ({"grad_dtype": "bf16"}, 4.0),
    ],
)
def test_short_moments_are_copied_up_to_release_0_17(
    options: dict[str, Any], update: float
) -> None:
    job = plan_of(layout=LAYOUT, options=Options(**options), precision="bf16").job
    assert BACKEND.target.traits.memory.state(job, 1).step == update


RECIPE = {"fp8_recipe": "blockwise"}
CHATS = Data(parts=(("chats.jsonl", 1.0),))
FA2, FA3, GRAPH = {"attention_kernel": "fa2"}, {"attention_kernel": "fa3"}, {"cuda_graph": True}


@pytest.mark.parametrize(
    ("settings", "more", "words"),
    [
        (FA3, {"gpu": A100}, "no kernel, or no measured speed, on a100_80gb (sm80)"),
        (FA3, {"gpu": B200}, "(sm100)"),
        (FA2, {"attention": "unfused"}, "attention = unfused"),
        (FA3, {"dropout": 0.1}, "does not support dropout (0.1)"),
        (
            FA2,
            {"model": with_model(DENSE, attention_sinks=True)},
            "does not support attention sinks",
        ),
        (FA2, {"model": with_model(DENSE, head_dim=264)}, "heads of 264 and 264"),
        (FA3, {"model": with_model(DEEPSEEK_V3, v_head_dim=64)}, "heads of 192 and 64"),
        (RECIPE, {}, "precision bf16"),
        (RECIPE, {"precision": "mxfp8", "gpu": B200}, "precision mxfp8"),
        ({"tp_overlap": True}, {"precision": "nvfp4", "gpu": B200}, "precision nvfp4"),
        ({"tp_overlap": True}, {"model": DEEPSEEK_V3}, "latent attention"),
        ({"moment_dtype": "bf16"}, {"precision": "fp16"}, "adam in fp16"),
        ({"moment_dtype": "bf16"}, {"optimizer": "sgd"}, "sgd in bf16"),
        (GRAPH, {"model": MOE}, "experts, whose tokens the host counts"),
        (GRAPH, {"ramp_from": 8, "ramp_tokens": 4096 * 900}, "a growing batch"),
        (GRAPH | {"sft": True, "data": CHATS, "tokenizer": "t"}, {}, "conversations"),
        (GRAPH | {"extra": {"cuda_graph_impl": "local"}}, {}, "two graphs"),
    ],
)
def test_contradictions_are_named(
    settings: dict[str, Any], more: dict[str, Any], words: str
) -> None:
    (said,) = problems(settings, **more)
    assert said.code == "PAR395" and words in said.message and said.help


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        (FA3, {"model": DEEPSEEK_V3}),
        (FA2, {"model": DEEPSEEK_V3, "gpu": A100, "dropout": 0.1}),
        (RECIPE, {"precision": "fp8"}),
        ({"tp_overlap": True}, {"precision": "mxfp8", "gpu": B200}),
        (GRAPH, {"dropout": 0.1}),
        ({"extra": {"cuda_graph_impl": "local"}}, {}),
        (GRAPH | {"extra": {"moe-pad-expert-input-to-capacity": True}}, {"model": MOE}),
    ],
)
def test_what_goes_together_is_taken(settings: dict[str, Any], more: dict[str, Any]) -> None:
    assert problems(settings, **more) == []


def test_ada_has_no_scales_of_blocks() -> None:
    (said,) = problems(RECIPE, precision="fp8", gpu=ADA)
    assert "compute capability 9.0, and l40s is sm89" in said.message


ADA = H100.model_copy(update={"name": "l40s", "arch": "sm89"})


@pytest.mark.parametrize(
    ("gpu", "model", "recipe"),
    [
        (H100, DENSE, "tensorwise"),
        (H100, MOE, "tensorwise"),
        (H100, DEEPSEEK_V3, "blockwise"),
        (B200, DEEPSEEK_V3, "tensorwise"),
        (ADA, DENSE, "delayed"),
        (MI300X, DENSE, "delayed"),
    ],
)
def test_a_job_in_fp8_has_its_gpus_recipe_unless_it_says_one(
    gpu: Gpu, model: Model, recipe: str
) -> None:
    job = plan_of(model, LAYOUT, gpu=gpu, precision="fp8").job
    assert recipe_of(job) == recipe
    for said in ("delayed", "tensorwise"):
        assert (
            recipe_of(plan_of(model, options=Options(fp8_recipe=said), precision="fp8").job) == said
        )
    assert recipe_of(plan_of(model, LAYOUT, gpu=gpu, precision="bf16").job) is None
    assert recipe_of(plan_of(model, LAYOUT, gpu=gpu, precision="mxfp8").job) == "mxfp8"


def test_a_script_that_names_no_recipe_has_megatrons_own() -> None:
    plan = plan_of(layout=LAYOUT, precision="fp8")
    files = {
        name: text.replace("--fp8-recipe tensorwise", "")
        for name, text in BACKEND.emit(plan).items()
    }
    (config,) = read_jobs(files)
    assert not config.given("--fp8-recipe") and READER.options(config)["fp8_recipe"] == "delayed"


@pytest.mark.parametrize("recipe", ["delayed", "tensorwise", "blockwise"])
def test_recipes_are_written_and_read(recipe: Any) -> None:
    plan = plan_of(layout=LAYOUT, options=Options(fp8_recipe=recipe), precision="fp8")
    (config,) = read_jobs(BACKEND.emit(plan))
    assert READER.options(config)["fp8_recipe"] == recipe
    assert config.value("precision") == "bf16+fp8" and not unexpressed(config)


@pytest.mark.parametrize("option", ROWS.said)
def test_extra_is_told_the_setting(option: str) -> None:
    (said,) = problems({"extra": {option.strip("-"): True}})
    assert said.code == "PAR395" and said.help == f"set it with {ROWS.said[option]}"
    assert not problems({"extra": {option.strip("-").replace("-", "_"): False}})
