"""Kernels and traffic under `target deepspeed`: emitted, read back, priced, refused where they disagree."""

from __future__ import annotations

import json
from typing import Any

import black
import pytest

from parc.backends.deepspeed import BACKEND
from parc.backends.deepspeed.option_rows import ROWS
from parc.backends.deepspeed.options import Options
from parc.backends.deepspeed.read import READER
from parc.backends.launch_files import read_jobs
from parc.backends.stack_facts import FACTS, Fixed, Said
from parc.compiler import estimate
from parc.compiler.plan import Layout, Plan
from parc.dsl.diagnostics import Diagnostic
from parc.dsl.hardware import Gpu
from parc.dsl.model import Model
from parc.lint.unexpressed import unexpressed
from tests.backends.deepspeed.test_emit_and_read import assert_names_resolve
from tests.support import sample_plans
from tests.support.sample_plans import LLAMA3_8B, sample_plan, train_of

ZERO1 = Layout(dp_shard=8, zero=1, microbatches=2)
ZERO2 = Layout(dp_shard=8, zero=2, microbatches=2)
ZERO3 = Layout(dp_shard=8, zero=3, microbatches=2)
ULYSSES = Layout(cp=2, dp_shard=4, zero=2)
PIPELINE = Layout(pp=2, dp_shard=4, zero=1, microbatches=4)
TENSOR = Layout(tp=2, dp_shard=4, zero=1)
HF = {"model": "hf"}
NAMES = (
    "attention_kernel", "norm_kernel", "loss_kernel", "grad_dtype", "tp_overlap", "dp_overlap",
)  # fmt: skip
#: Settings of the block, a layout, and what the files have beside those without them.
CASES: dict[str, tuple[dict[str, Any], Layout, str]] = {
    "fa2": ({"attention_kernel": "fa2"}, ZERO1, "torch.backends.cuda.enable_cudnn_sdp(False)"),
    "cudnn": ({"attention_kernel": "cudnn"}, ZERO1, "torch.backends.cuda.enable_flash_sdp(False)"),
    "cudnn hf": (HF | {"attention_kernel": "cudnn"}, ZERO3, "enable_flash_sdp(False)"),
    "norms": (HF | {"norm_kernel": "fused"}, ZERO1, "modeling_llama.LlamaRMSNorm = nn.RMSNorm"),
    "loss": ({"loss_kernel": "fused"}, ZERO1, "@torch.compile\ndef cross_entropy("),
    "loss of stages": ({"loss_kernel": "fused"}, PIPELINE, "@torch.compile\ndef cross_entropy("),
    "loss hf": (HF | {"loss_kernel": "fused"}, ZERO3, "@torch.compile\ndef cross_entropy("),
    "gradients": ({"grad_dtype": "fp32"}, ZERO1, '"communication_data_type": "fp32"'),
    "ulysses": ({"grad_dtype": "fp32"}, ULYSSES, '"seq_parallel_communication_data_type": "fp32"'),
    "tp": (HF | {"tp_overlap": True}, TENSOR, '"tp_overlap_comm": true'),
    "dp of stage 2": ({"dp_overlap": False}, ZERO2, '"overlap_comm": false'),
    "dp of stage 3": ({"dp_overlap": False}, ZERO3, '"overlap_comm": false'),
}


def plan_of(
    settings: dict[str, Any],
    layout: Layout = ZERO1,
    model: Model = LLAMA3_8B,
    gpu: Gpu = sample_plans.H100,
    **train: Any,
) -> Plan:
    batch = layout.micro_batch * layout.microbatches * layout.dp
    return sample_plan(
        "deepspeed",
        Options(**settings),
        model=model,
        layout=layout,
        train=train_of(**{"global_batch": batch, "steps": 1000, **train}),
        gpu=gpu,
    )


def priced(settings: dict[str, Any], layout: Layout = ZERO1, **other: Any) -> Any:
    degrees = {
        name: getattr(layout, name) for name in ("tp", "pp", "dp_shard", "zero", "micro_batch")
    }
    if settings.get("model") != "hf":
        degrees.pop("tp")
    else:
        degrees.pop("pp")
    return estimate(plan_of(settings, layout, **other).job, BACKEND.target, degrees)


def problems(settings: dict[str, Any], **other: Any) -> list[Diagnostic]:
    return BACKEND.target.refuses(plan_of(settings, **other).job)


def base(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name == "model"}


def text_of(plan: Plan) -> str:
    return "\n".join(BACKEND.emit(plan).values())


@pytest.mark.parametrize("case", CASES)
def test_it_is_emitted_and_read_back(case: str) -> None:
    settings, layout, added = CASES[case]
    assert added in text_of(plan_of(settings, layout))
    assert added not in text_of(plan_of(base(settings), layout))
    files = BACKEND.emit(plan_of(settings, layout))
    script = files["deepspeed/train.py"]
    assert black.format_str(script, mode=black.Mode()) == script
    assert_names_resolve(script)
    (config,) = read_jobs(files)
    read = READER.options(config)
    assert {name: read.get(name) for name in NAMES} == {name: settings.get(name) for name in NAMES}
    assert not unexpressed(config)


@pytest.mark.parametrize("layout", [ZERO1, ZERO2, ZERO3, ULYSSES, PIPELINE])
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_what_parc_does_by_itself_is_not_said(layout: Layout, precision: str) -> None:
    (config,) = read_jobs(BACKEND.emit(plan_of({}, layout, precision=precision)))
    assert not READER.options(config).keys() & set(NAMES)


def test_a_config_without_the_key_overlaps_in_stage_3_alone() -> None:
    for stage, overlapped in ((2, False), (3, True)):
        keys = {"train_batch_size": 8, "zero_optimization": {"stage": stage}}
        (config,) = read_jobs({"ds.json": json.dumps(keys)})
        assert READER.options(config).get("dp_overlap", True) == overlapped


def test_kernels_are_priced() -> None:
    plain, slow = priced({}), priced({"attention_kernel": "fa2"})
    assert plain.time["compute"] < slow.time["compute"]
    assert priced({"attention_kernel": "cudnn"}).time == plain.time
    a100 = [priced(each, gpu=sample_plans.A100) for each in ({}, {"attention_kernel": "fa2"})]
    assert a100[0].time == a100[1].time
    assert priced(HF | {"norm_kernel": "fused"}).time["compute"] < priced(HF).time["compute"]


def test_a_compiled_loss_takes_less_time_and_memory() -> None:
    plain, fused = priced({}), priced({"loss_kernel": "fused"})
    assert fused.time["compute"] < plain.time["compute"]
    assert fused.memory_bytes < plain.memory_bytes


def test_wide_gradients_take_twice_the_traffic_and_save_a_copy_of_stage_1() -> None:
    plain, wide = priced({}), priced({"grad_dtype": "fp32"})
    assert plain.time["dp"] < wide.time["dp"] < 2 * plain.time["dp"]
    assert priced({"grad_dtype": "bf16"}).time == plain.time
    before, after = (priced(each, ZERO2).time["dp"] for each in ({}, {"grad_dtype": "fp32"}))
    assert before < after


def test_traffic_that_does_not_overlap_is_seen() -> None:
    for layout in (ZERO2, ZERO3):
        assert priced({"dp_overlap": False}, layout).time["dp"] > priced({}, layout).time["dp"]
    overlapped = priced(HF | {"tp_overlap": True}, TENSOR)
    assert overlapped.time["tp"] < priced(HF, TENSOR).time["tp"]


WINDOWED = LLAMA3_8B.model_copy(update={"window": 512})
BIASED = LLAMA3_8B.model_copy(update={"bias": True})
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "unfused": ({"attention_kernel": "fa2"}, {"attention": "unfused"}, "unfused"),
    "mask": ({"attention_kernel": "fa2"}, {"model": WINDOWED}, "mask"),
    "GPU": ({"attention_kernel": "cudnn"}, {"gpu": sample_plans.V100}, "does not run"),
    "norms": ({"norm_kernel": "eager"}, {}, "norm_kernel"),
    "no tp": ({"tp_overlap": True}, {}, "no tensor parallelism"),
    "bias": (HF | {"tp_overlap": True}, {"model": BIASED}, "biases"),
    "fp16": ({"grad_dtype": "bf16"}, {"precision": "fp16"}, "fp16"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_contradictions_are_named(case: str) -> None:
    settings, other, named = REFUSED[case]
    found = [each for each in problems(settings, **other) if each.code == "PAR395"]
    assert len(found) == 1 and named in found[0].message and found[0].help


@pytest.mark.parametrize("key", ROWS.said)
def test_extra_is_told_the_setting(key: str) -> None:
    (said,) = problems({"extra": {key: True}})
    assert said.code == "PAR395" and said.help == f"set it with {ROWS.said[key]}"


def test_every_fact_is_said_or_fixed() -> None:
    assert BACKEND.stack.keys() == FACTS.keys()
    for fact in BACKEND.stack.values():
        assert isinstance(fact, Said | Fixed)
        if isinstance(fact, Said):
            block = dict(fact.block or {})
            layout = TENSOR if block.get("model") == "hf" else ZERO2
            texts = [
                text_of(plan_of({**block, **each}, layout))
                for each in ({}, {fact.setting: fact.value})
            ]
            assert [fact.written in text for text in texts].count(True) == 1
