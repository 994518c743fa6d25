"""Kernels and traffic under `target torchtitan`: emitted, read back, priced, refused where they disagree."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.stack_facts import FACTS, Fixed, Said
from parc.backends.torchtitan import BACKEND
from parc.backends.torchtitan.option_rows import ROWS
from parc.backends.torchtitan.options import Options
from parc.backends.torchtitan.read import READER
from parc.backends.torchtitan.stack import kernel
from parc.compiler import estimate
from parc.compiler.plan import Layout, Plan
from parc.compiler.rules.validity import problems as broken
from parc.dsl.diagnostics import Diagnostic
from parc.dsl.model import Model
from parc.lint.unexpressed import unexpressed
from parc.reading.facts import LaunchConfig
from tests.support import sample_plans
from tests.support.sample_plans import sample_plan, train_of

LAYOUT = Layout(tp=2, dp_shard=4, zero=3)
NAMES = ("attention_kernel", "loss_kernel", "tp_overlap", "fp8_recipe", "cuda_graph")
#: Settings of the block and of `train`, words that only the changed files have, and that only the plain have.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], set[str], set[str]]] = {
    "flex": ({"attention_kernel": "flex"}, {}, {'attn_type="flex",'}, set()),
    "fa2": (
        {"attention_kernel": "fa2"},
        {},
        {"SDPBackend.FLASH_ATTENTION,"},
        set(),
    ),
    "varlen": (
        {"version": "0.3", "attention_kernel": "varlen"},
        {},
        {'"varlen"'},
        set(),
    ),
    "loss": ({"loss_kernel": "fused"}, {}, {'["loss"]'}, set()),
    "eager loss": ({"loss_kernel": "eager"}, {"compile": True}, {'["model"]'}, {'"loss"]'}),
    "loss 0.3": (
        {"version": "0.3", "loss_kernel": "fused"},
        {},
        {'components=["loss"],'},
        set(),
    ),
    "overlap": (
        {"tp_overlap": True},
        {"compile": True},
        {"enable_async_tensor_parallel"},
        set(),
    ),
    "overlap 0.3": (
        {"version": "0.3", "tp_overlap": True},
        {"compile": True},
        {"enable_async_tensor_parallel=True,"},
        set(),
    ),
    "rowwise": ({"fp8_recipe": "rowwise"}, {"precision": "fp8"}, {'"rowwise"'}, {'"tensorwise"'}),
    "no graph": (
        {"version": "0.3", "cuda_graph": False},
        {},
        {"disable_cuda_graphs=True,"},
        set(),
    ),
}


def plan_of(
    settings: dict[str, Any],
    layout: Layout = LAYOUT,
    model: Model = sample_plans.LLAMA3_8B,
    **train: Any,
) -> Plan:
    gpu = train.pop("gpu", sample_plans.H100)
    batch = layout.micro_batch * layout.microbatches * layout.dp
    return sample_plan(
        "torchtitan",
        Options(**settings),
        model=model,
        layout=layout,
        train=train_of(**{"global_batch": batch, "steps": 1000, **train}),
        gpu=gpu,
    )


def words(plan: Plan) -> set[str]:
    return {word for text in BACKEND.emit(plan).values() for word in text.split()}


def priced(settings: dict[str, Any], **train: Any) -> Any:
    return estimate(plan_of(settings, **train).job, BACKEND.target, {"tp": 2, "zero": 3})


def problems(settings: dict[str, Any], **train: Any) -> list[Diagnostic]:
    return BACKEND.target.refuses(plan_of(settings, **train).job)


def unread(config: LaunchConfig) -> list[str]:
    """Settings that no job says; of 0.3 without those of the model, which is built in Python."""
    return [
        each.name
        for each in unexpressed(config)
        if not each.name.endswith("()")
        and (
            each.scope != "python"
            or each.name.startswith(("compile.", "parallelism.", "training."))
        )
    ]


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name == "version"}


@pytest.mark.parametrize("case", CASES)
def test_it_is_emitted_and_read_back(case: str) -> None:
    settings, train, added, dropped = CASES[case]
    without, having = words(plan_of(plain(settings), **train)), words(plan_of(settings, **train))
    assert added <= having - without and dropped <= without - having
    (config,) = read_jobs(BACKEND.emit(plan_of(settings, **train)))
    read = READER.options(config)
    assert {name: read.get(name) for name in NAMES} == {name: settings.get(name) for name in NAMES}
    assert READER.train(config).get("compile", False) == train.get("compile", False)
    assert not unread(config)


@pytest.mark.parametrize("version", ["0.2.2", "0.3"])
@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_release_does_by_itself_is_not_said(version: str, compiled: bool) -> None:
    layout = Layout(pp=2, dp_shard=4, zero=1, microbatches=2)
    for chosen in (LAYOUT, layout):
        (config,) = read_jobs(BACKEND.emit(plan_of({"version": version}, chosen, compile=compiled)))
        assert not READER.options(config).keys() & set(NAMES)
        assert not unread(config)


def test_each_release_has_its_own_kernel() -> None:
    for version, gpu, expected in (
        ("0.2.2", sample_plans.H100, "cudnn"),
        ("0.3", sample_plans.H100, "flex"),
    ):
        assert kernel(plan_of({"version": version}, gpu=gpu).job) == expected
    varlen = {"version": "0.3", "attention_kernel": "varlen"}
    assert kernel(plan_of(varlen).job) == "fa3"
    assert kernel(plan_of(varlen, gpu=sample_plans.A100).job) == "fa2"


def test_slower_kernels_cost_more() -> None:
    compute = [
        priced({"attention_kernel": chosen}).time["compute"] for chosen in ("cudnn", "flex", "fa2")
    ]
    assert compute[0] < compute[1] == compute[2]
    assert priced({}).time == priced({"attention_kernel": "cudnn"}).time
    flex, varlen = (
        priced({"version": "0.3", **each}) for each in ({}, {"attention_kernel": "varlen"})
    )
    assert varlen.time["compute"] < flex.time["compute"]


def test_a_compiled_loss_takes_less_time_and_memory() -> None:
    one = {"tp": 1, "dp_shard": 8, "zero": 3, "micro_batch": 1}
    layout = Layout(dp_shard=8, zero=3)
    job = plan_of({}, layout).job
    fused = plan_of({"loss_kernel": "fused"}, layout).job
    before, after = (estimate(each, BACKEND.target, one) for each in (job, fused))
    tokens = job.train.seq_len * job.train.global_batch / 8
    saved = (
        (44 - 6)
        * tokens
        * job.model.vocab
        / (job.cluster.gpu.memory_bandwidth * job.cluster.gpu.memory_efficiency)
    )
    assert before.time["compute"] - after.time["compute"] == pytest.approx(saved, rel=0.01)
    assert after.memory_bytes < before.memory_bytes


def test_overlap_and_recipe_are_priced() -> None:
    assert (
        priced({"tp_overlap": True}, compile=True).time["tp"] < priced({}, compile=True).time["tp"]
    )
    fp8 = [
        priced({"fp8_recipe": recipe}, precision="fp8").time["compute"]
        for recipe in ("tensorwise", "rowwise")
    ]
    assert fp8[0] < fp8[1]


def test_a_graph_has_no_gaps_and_keeps_its_gradients() -> None:
    graph, none = (
        estimate(plan_of({"version": "0.3", **each}).job, BACKEND.target, {"tp": 2, "zero": 3})
        for each in ({}, {"cuda_graph": False})
    )
    assert graph.time.get("host", 0) == 0 < none.time["host"]
    pipeline = {"pp": 2, "zero": 1}
    graph, none = (
        estimate(plan_of({"version": "0.3", **each}, global_batch=16).job, BACKEND.target, pipeline)
        for each in ({}, {"cuda_graph": False})
    )
    assert graph.time == none.time


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "kernel of another release": ({"attention_kernel": "varlen"}, {}, "varlen"),
    "older kernel": ({"version": "0.3", "attention_kernel": "cudnn"}, {}, "cudnn"),
    "GPU": (
        {"version": "0.3", "attention_kernel": "flex_flash"},
        {"gpu": sample_plans.A100},
        "does not run",
    ),
    "not compiled": ({"tp_overlap": True}, {}, "not compiled"),
    "bf16": ({"fp8_recipe": "rowwise"}, {}, "precision bf16"),
    "graphs": ({"cuda_graph": True}, {}, "0.2.2"),
    "compiled halves": ({"schedule": "zbv"}, {"compile": True}, "when compiled"),
    "lost gradients": ({"schedule": "interleaved_zb", "version": "0.3"}, {}, "loses gradients"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_contradictions_are_named(case: str) -> None:
    settings, train, named = REFUSED[case]
    (said,) = problems(settings, **train)
    assert said.code == "PAR395" and named in said.message and said.help


@pytest.mark.parametrize("key", ROWS.said)
def test_extra_is_told_the_setting(key: str) -> None:
    cures = [
        each.help
        for version in ("0.2.2", "0.3")
        for each in problems({"version": version, "extra": {key: True}})
    ]
    assert f"set it with {ROWS.said[key]}" in cures


@pytest.mark.parametrize(
    ("settings", "layout", "code"),
    [
        (
            {"version": "0.3", "attention_kernel": "varlen"},
            Layout(cp=2, dp_shard=4, zero=3),
            "PAR460",
        ),
        (
            {"version": "0.3", "cuda_graph": True},
            Layout(pp=2, dp_shard=4, zero=1, microbatches=2),
            "PAR461",
        ),
    ],
)
def test_layouts_that_the_kernel_or_graph_cannot_have(
    settings: dict[str, Any], layout: Layout, code: str
) -> None:
    plan = plan_of(settings, layout)
    assert [each.code for each in broken(plan.job, BACKEND.target, plan.layout)] == [code]
    assert not broken(plan_of(plain(settings), layout).job, BACKEND.target, layout)


def test_every_fact_is_said_or_fixed() -> None:
    assert BACKEND.stack.keys() == FACTS.keys()
    for fact in BACKEND.stack.values():
        assert isinstance(fact, Said | Fixed)
        if isinstance(fact, Said):
            block = {"version": "0.2.2", **(fact.block or {})}
            train: dict[str, Any] = dict(fact.job or {})
            having = words(plan_of({fact.setting: fact.value, **block}, **train))
            without = words(plan_of(block, **train))
            assert any(fact.written in word for word in having ^ without)


def test_flex_is_handed_a_tokenizer_even_by_made_up_tokens() -> None:
    model, data = "torchtitan/parc_model.py", "torchtitan/parc_data.py"
    flex, cudnn = (BACKEND.emit(plan_of({"attention_kernel": each})) for each in ("flex", "cudnn"))
    assert "build_tokenizer_fn=parc_data.no_tokenizer" in flex[model]
    assert "def no_tokenizer(" in flex[data] and "no_tokenizer" not in cudnn[data]
    assert "build_tokenizer_fn=None" in cudnn[model]
