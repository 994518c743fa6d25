"""Kernels and traffic under `target megatron`: emitted, read back, priced, refused where they disagree."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.backends.megatron.read import READER
from parc.backends.megatron.stack import SAID_AS
from parc.compiler import estimate
from parc.compiler.plan import Layout
from parc.dsl.diagnostics import Diagnostic
from parc.lint.unexpressed import unexpressed
from tests.support.megatron_plans import plan_of

LAYOUT = Layout(tp=2, dp_shard=4, zero=1)
CASES: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {
    "grad_dtype": ({"grad_dtype": "bf16"}, {"--grad-reduce-in-bf16"}, set()),
    "tp_overlap": ({"tp_overlap": True}, {"--tp-comm-overlap"}, set()),
    "dp_overlap": (
        {"dp_overlap": False},
        set(),
        {"--overlap-grad-reduce", "--overlap-param-gather"},
    ),
}


def script(options: Options, layout: Layout = LAYOUT) -> str:
    return BACKEND.emit(plan_of(layout=layout, options=options))["megatron/pretrain.sh"]


def words(options: Options, layout: Layout = LAYOUT) -> set[str]:
    return {word for word in script(options, layout).split() if word.startswith("--")}


def priced(**settings: Any) -> Any:
    plan = plan_of(layout=LAYOUT, options=Options(**settings))
    return estimate(plan.job, BACKEND.target, {"tp": 2, "zero": 1})


def problems(settings: dict[str, Any], **train: Any) -> list[Diagnostic]:
    plan = plan_of(layout=LAYOUT, options=Options(**settings), **train)
    return BACKEND.target.refuses(plan.job)


@pytest.mark.parametrize("case", CASES)
def test_it_is_emitted_and_read_back(case: str) -> None:
    settings, added, dropped = CASES[case]
    plain, changed = words(Options()), words(Options(**settings))
    assert (changed - plain, plain - changed) == (added, dropped)
    files = BACKEND.emit(plan_of(layout=LAYOUT, options=Options(**settings)))
    (config,) = read_jobs(files)
    read = READER.options(config)
    assert {name: read.get(name) for name in CASES} == {name: settings.get(name) for name in CASES}
    assert not unexpressed(config)


def test_short_gradients_take_half_the_memory_and_half_the_traffic() -> None:
    plain, short = priced(), priced(grad_dtype="bf16")
    memory, less = plain.fullest.memory, short.fullest.memory
    assert less["gradients"] == pytest.approx(memory["gradients"] / 2, rel=1e-6)
    assert less["activations"] == memory["activations"]
    assert short.time["dp"] < plain.time["dp"]


def test_overlap_hides_what_it_overlaps() -> None:
    plain = priced()
    assert priced(tp_overlap=True).time["tp"] < plain.time["tp"]
    assert priced(dp_overlap=False).time["dp"] > plain.time["dp"]
    assert priced(dp_overlap=False).time["tp"] == plain.time["tp"]


def test_a_layout_without_tensor_parallelism_has_none_to_overlap() -> None:
    assert "--tp-comm-overlap" not in words(Options(tp_overlap=True), Layout(dp_shard=8, zero=1))


def test_fp16_has_no_sums_in_bf16() -> None:
    (said,) = problems({"grad_dtype": "bf16"}, precision="fp16")
    assert said.code == "PAR395" and "fp16" in said.message
    assert not problems({"grad_dtype": "bf16"})


@pytest.mark.parametrize("option", SAID_AS)
def test_extra_is_told_the_setting(option: str) -> None:
    (said,) = problems({"extra": {option.strip("-"): True}})
    assert said.code == "PAR395" and said.help == f"say it with {SAID_AS[option]}"
    assert not problems({"extra": {option.strip("-").replace("-", "_"): False}})
