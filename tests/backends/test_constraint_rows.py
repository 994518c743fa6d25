"""Rows of what frameworks demand name options that there are, and lint and `extra` ask them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.api import emit, plan_targets
from parc.backends import BACKENDS
from parc.backends.constraints import AtMost, Clash, Constraint, Multiple, Need, OneOf
from parc.backends.launch_files import read_jobs
from parc.dsl.diagnostics import Diagnostic
from parc.lint.judging import LintOptions, judge
from parc.lint.releases.history import history

ZERO = "zero_optimization"
AUTOCAST = {"torch_autocast": {"enabled": True}}
#: A DeepSpeed configuration, the release that it is for ("" for one that is not known), what is said.
CONFIGS: list[tuple[dict[str, Any], str, str]] = [
    ({"gradient_allreduce_op": "sum", ZERO: {"stage": 3}}, "0.19", "error PAR312"),
    ({"gradient_allreduce_op": "sum", ZERO: {"stage": 2}}, "0.19", ""),
    ({"gradient_allreduce_op": "mean", ZERO: {"stage": 3}}, "0.19", ""),
    ({"fp16": {"fp16_master_weights_and_grads": True}, ZERO: {"stage": 1}}, "0.17", "error PAR303"),
    ({"fp16": {"fp16_master_weights_and_grads": True}, ZERO: {"stage": 1}}, "0.18", ""),
    ({"fp16": {"fp16_master_weights_and_grads": True}}, "0.18", "error PAR303"),
    ({"bf16": {"bf16_optimizer_states": True}, ZERO: {"stage": 1}}, "0.19", "error PAR303"),
    ({ZERO: {"stage": 3, "compute_grad_norm": False}}, "", "error PAR303"),
    ({ZERO: {"stage": 2, "compute_grad_norm": False}}, "", ""),
    ({ZERO: {"stage": "auto", "compute_grad_norm": False}}, "", ""),
    ({ZERO: {"stage": 2, "offload_param": {"device": "cpu"}}}, "", "error PAR405"),
    ({ZERO: {"stage": 3, "offload_param": {"device": "cpu"}}}, "", ""),
    ({ZERO: {"stage": 2, "offload_param": {"device": "none"}}}, "", ""),
    ({ZERO: {"offload_optimizer": {"device": "cpu"}}}, "", "error PAR405"),
    (
        {ZERO: {"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}},
        "",
        "error PAR405",
    ),
    ({ZERO: {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}}, "", ""),
    ({ZERO: {"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 1.0}}}, "", ""),
    ({ZERO: {"stage": 3, "offload_optimizer": {"device": "nvme"}}}, "", "error PAR417"),
    (
        {ZERO: {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme"}}},
        "",
        "",
    ),
    ({ZERO: {"stage": 3, "zero_quantized_weights": True}, **AUTOCAST}, "", "error PAR312"),
    ({ZERO: {"stage": 2, "zero_quantized_weights": True}}, "", "warning PAR418"),
    ({ZERO: {"stage": 2, "zero_quantized_weights": False}}, "", ""),
    ({"bf16": {"enabled": True}, **AUTOCAST}, "0.17", "error PAR418"),
    ({"bf16": {"enabled": True}, **AUTOCAST}, "0.19", "warning PAR418"),
    ({"bf16": {"enabled": True}, **AUTOCAST}, "", "warning PAR418"),
    ({"fp16": {"fp16_master_weights_and_grads": True}, ZERO: {"stage": 1}}, "", "info PAR303"),
    ({"bf16": {"enabled": True}, "fp16": {"enabled": True}}, "", "error PAR501"),
    ({"bf16": {"enabled": True}, "fp16": {"enabled": False}}, "", ""),
]
PARALLEL = "[parallelism]\ntensor_parallel_degree = 2\n"
#: The same of torchtitan's tables.
TABLES = [
    ("[checkpoint]\ninitial_load_in_hf_quantized = true\n", "0.2.2", "error PAR303"),
    (
        "[checkpoint]\ninitial_load_in_hf_quantized = true\ninitial_load_in_hf = true\n",
        "0.2.2",
        "",
    ),
    ("[checkpoint]\nlast_save_in_hf = true\nlast_save_model_only = false\n", "", "error PAR312"),
    ("[checkpoint]\nlast_save_in_hf = true\n", "", ""),
    (f"{PARALLEL}enable_async_tensor_parallel = true\n", "0.2.2", "error PAR366"),
    (f"{PARALLEL}enable_async_tensor_parallel = true\n[compile]\nenable = true\n", "0.2.2", ""),
    ("[parallelism]\nenable_async_tensor_parallel = true\n", "0.2.2", ""),
]
JOB = """\
model small {{ layers = 12; hidden = 768; heads = 12; ffn = 3072; vocab = 50257 }}
cluster desk from std.dgx_a100 {{}}
train {{ seq_len = 2048; global_batch = 256; steps = 100 }}
goal {{ {goal} }}
target {target} {{ extra = {{ {extra} }} }}
"""
SAMPLING = "data_efficiency.data_sampling"
#: A target, a condition on the layout, `extra` -> what is said.
EXTRAS = [
    ("deepspeed", "require zero == 3", '"gradient_allreduce_op" = "sum"', "PAR151"),
    ("deepspeed", "require zero == 2", '"gradient_allreduce_op" = "sum"', ""),
    ("deepspeed", "", f'"{SAMPLING}.dynamic_batching.enabled" = true', "PAR303"),
    (
        "deepspeed",
        "",
        f'"{SAMPLING}.curriculum_learning.enabled" = true; '
        f'"{SAMPLING}.curriculum_learning.curriculum_metrics.seqlen.index" = 1',
        "",
    ),
    ("torchtitan", "", '"checkpoint.initial_load_in_hf_quantized" = true', "PAR303"),
    ("torchtitan", "", '"checkpoint.last_save_in_hf" = true', "PAR312"),
]


@pytest.mark.parametrize("framework", [name for name in BACKENDS if BACKENDS[name].constraints])
def test_rows_name_options_that_some_release_has(framework: str) -> None:
    known = history(framework)
    rows = [row for rows in BACKENDS[framework].constraints.values() for row in rows]
    assert len(rows) > 5
    unknown = {name for row in rows for name in named(row) if name not in known}
    assert unknown <= UNLISTED


#: DeepSpeed looks it up where batching is enabled, and so not where its keys are recorded.
#: `--fp8` is an older fork's.
UNLISTED = {"data_efficiency.data_sampling.dynamic_batching.max_tokens", "--fp8"}


def named(row: Constraint) -> list[str]:
    match row:
        case Need(option=option, needs=needs, where=where):
            words = [option, *needs, *filter(None, [where])]
        case Clash(one=one, other=other, where=where):
            words = [one, other, *filter(None, [where])]
        case OneOf(options=options):
            words = list(options)
        case Multiple(option=option, of=of):
            words = [option, of]
        case AtMost(option=option, limit=limit):
            words = [option, limit]
        case _:
            words = [row.option]
    return [word.partition(" ")[0] for word in words]


def said(name: str, text: str, versions: dict[str, str]) -> str:
    options = LintOptions(versions=versions, select=ASKED)
    (job,) = judge(read_jobs({name: text}), options)
    return " ".join(f"{each.severity} {each.code}" for each in job.findings)


ASKED = ("PAR303", "PAR312", "PAR366", "PAR405", "PAR417", "PAR418", "PAR501")


def test_keys_of_a_deepspeed_config() -> None:
    for config, release, expected in CONFIGS:
        text = json.dumps({"train_micro_batch_size_per_gpu": 1, **config})
        versions = {"deepspeed": release} if release else {}
        assert said("ds_config.json", text, versions) == expected, config


def test_a_demand_that_a_release_gave_up_is_not_certain() -> None:
    config = {"fp16": {"fp16_master_weights_and_grads": True}, ZERO: {"stage": 1}}
    (job,) = judge(read_jobs({"ds_config.json": json.dumps(config)}), LintOptions(select=ASKED))
    (finding,) = job.findings
    notes = [note.message for note in finding.diagnostic.notes]
    missing = "the release is not known, and DeepSpeed does not check it from 0.18 on"
    assert notes[-1] == f"not certain: {missing}"


def test_settings_of_torchtitan() -> None:
    for table, release, expected in TABLES:
        text = f"[training]\nlocal_batch_size = 1\n{table}"
        versions = {"torchtitan": release} if release else {}
        assert said("train.toml", text, versions) == expected, table


def test_what_extra_may_not_say(tmp_path: Path) -> None:
    for target, goal, extra, expected in EXTRAS:
        path = tmp_path / "job.par"
        path.write_text(JOB.format(target=target, goal=goal, extra=extra))
        assert [each.code for each in refused(path)] == [expected] * bool(expected), extra


def refused(path: Path) -> list[Diagnostic]:
    planned, emitted = emit(plan_targets(parc.load(path)))
    found = [diagnostic for _, diagnostic in planned.complaints]
    assert bool(emitted.files) is not bool(found)
    return found
