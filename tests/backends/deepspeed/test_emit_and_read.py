"""DeepSpeed: emitted files and what the reader makes of them. The framework is not needed."""

from __future__ import annotations

import ast
import builtins
import json
import subprocess
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from parc.backends.deepspeed import BACKEND
from parc.backends.deepspeed.emit.architecture import ACTIVATIONS
from parc.backends.deepspeed.options import Options
from parc.backends.deepspeed.releases import top_keys
from parc.backends.languages import bash, python
from parc.backends.render import format_python
from parc.compiler.model import flops
from parc.compiler.plan import Layout, Plan
from parc.dsl.hardware import Gpu
from parc.dsl.job import Train
from parc.dsl.model import Model
from parc.dsl.settings import Data
from parc.reading.facts import LaunchConfig, Unknown
from tests.support.read_back import assert_plan_is_back, read_back
from tests.support.sample_plans import GPT_125M, LLAMA3_8B, QWEN3_8B, sample_plan

PIPELINE = Layout(pp=4, dp_shard=2, zero=1, micro_batch=2, microbatches=8)
LAYOUTS = {
    "zero1": Layout(dp_shard=8, zero=1, microbatches=16),
    "zero2": Layout(dp_shard=8, zero=2, micro_batch=2, recompute=1),
    "zero3": Layout(dp_shard=16, zero=3, microbatches=4, recompute=2),
    "hpz": Layout(dp_shard=16, zero=3, hpz=8, recompute=2),
    "offload": Layout(dp_shard=8, zero=2, offload=1),
    "offload_all": Layout(dp_shard=8, zero=3, offload=2, recompute=2),
    "ulysses": Layout(cp=8, dp_shard=2, zero=3, recompute=2),
    "ulysses_copies": Layout(cp=16, zero=2),
    "pipeline": PIPELINE,
}


MODELS = {"llama3_8b": LLAMA3_8B, "gpt_125m": GPT_125M, "qwen3_8b": QWEN3_8B}


def fit(name: str, **given: Any) -> Plan:
    return sample_plan("deepspeed", layout=LAYOUTS[name], **given)


PLANS = {name: fit(name) for name in LAYOUTS}


@cache
def emitted(name: str, model: str = "llama3_8b") -> Mapping[str, str]:
    return BACKEND.emit(fit(name, model=MODELS[model]))


@pytest.mark.parametrize(
    "name, model",
    [
        *((name, "llama3_8b") for name in LAYOUTS),
        ("pipeline", "gpt_125m"),
        ("zero3", "gpt_125m"),
        ("ulysses", "qwen3_8b"),
    ],
)
def test_files(name: str, model: str) -> None:
    plan = fit(name, model=MODELS[model])
    files = emitted(name, model)
    assert_plan_is_back(plan, files)
    script = files["deepspeed/train.py"]
    assert format_python(script) == script
    assert_names_resolve(script)
    config = json.loads(files["deepspeed/ds_config.json"])
    assert set(config) <= top_keys()
    assert "auto" not in files["deepspeed/ds_config.json"]
    product = plan.layout.micro_batch * plan.layout.microbatches * plan.layout.dp
    assert config["train_batch_size"] == product
    json.loads(files["deepspeed/model.json"])


def assert_names_resolve(script: str) -> None:
    """Every name that is used is a builtin, imported, defined or bound; every import is used."""
    tree = ast.parse(script)
    loaded: set[str] = set()
    imported: set[str] = set()
    bound = {*dir(builtins), "__file__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {(name.asname or name.name).partition(".")[0] for name in node.names}
    assert loaded <= bound | imported | {"__doc__", "__name__"}, loaded - bound - imported
    assert imported <= loaded, imported - loaded


@pytest.mark.parametrize("name", LAYOUTS)
def test_launch_script_is_sound(name: str, tmp_path: Any) -> None:
    path = tmp_path / "launch.sh"
    path.write_text(emitted(name)[BACKEND.entry])
    subprocess.run(["bash", "-n", path], check=True)
    found = subprocess.run(["shellcheck", "-S", "info", path], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def run_launch(tmp_path: Any, plan: Plan, **environment: str) -> subprocess.CompletedProcess[str]:
    """The launch script with a torchrun that prints its words."""
    for path, text in BACKEND.emit(plan).items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    stub = tmp_path / "torchrun"
    stub.write_text('#!/bin/bash\nprintf "%s\\n" "$@"\nexit 7\n')
    stub.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RUN_DIR": f"{tmp_path}/run", **environment}
    command = ["bash", str(tmp_path / BACKEND.entry), "--steps=3"]
    return subprocess.run(command, env=variables, capture_output=True, text=True)


def test_launch_script_passes_arguments_and_status_on(tmp_path: Any) -> None:
    plan = fit("hpz", options=Options(data=Data(parts=(('/data/a "b" }c', 1.0),))))
    refused = run_launch(tmp_path, plan)
    assert refused.returncode == 2 and "2 nodes of 8 GPUs" in refused.stderr
    done = run_launch(
        tmp_path, plan, NNODES="2", NODE_RANK="1", MASTER_ADDR="host", SAVE=f"{tmp_path}/ck"
    )
    words = done.stdout.splitlines()
    assert done.returncode == 7 and words[-1] == "--steps=3"
    assert {"--nnodes=2", "--node-rank=1", "--master-addr=host", f"--save={tmp_path}/ck"} <= set(
        words
    )
    assert '--data=/data/a "b" }c' in words


def test_paths_keep_variables_and_lose_tricks() -> None:
    assert bash.default("$HOME/a") == "$HOME/a"
    assert bash.default('a$(x)`y`"}') == '"a\\$(x)\\`y\\`\\"}"'


def keys(text: str) -> set[str]:
    return set(json.loads(text)["zero_optimization"])


def test_configuration_says_the_layout() -> None:
    config = {name: emitted(name)["deepspeed/ds_config.json"] for name in LAYOUTS}
    assert "offload_param" not in keys(config["offload"])
    assert {"offload_param", "offload_optimizer"} <= keys(config["offload_all"])
    assert json.loads(config["hpz"])["zero_optimization"]["zero_hpz_partition_size"] == 8
    assert json.loads(config["ulysses"])["sequence_parallel_size"] == 8
    assert json.loads(config["zero1"])["bf16"]["immediate_grad_update"] is True
    assert keys(config["pipeline"]) == {"stage", "allgather_bucket_size"}


def test_extra_keys_enter_sections() -> None:
    extra: dict[str, str | int | float | bool] = {
        "zero_optimization.reduce_bucket_size": 5,
        "comms_logger.enabled": True,
    }
    config = json.loads(
        BACKEND.emit(fit("zero3", options=Options(extra=extra)))["deepspeed/ds_config.json"]
    )
    assert config["zero_optimization"]["reduce_bucket_size"] == 5
    assert config["comms_logger"] == {"enabled": True}


def test_script_holds_only_what_the_layout_needs() -> None:
    scripts = {name: emitted(name)["deepspeed/train.py"] for name in LAYOUTS}
    for name, script in scripts.items():
        layout = LAYOUTS[name]
        assert ("PipelineModule" in script) == (layout.pp > 1)
        assert ("all_to_all" in script) == (layout.cp > 1)
        assert ("zero.Init" in script) == (layout.zero == 3)
        assert ("checkpoint(self." in script) == (layout.recompute > 0)
        assert ("repeat_interleave" in script) == (layout.cp > LLAMA3_8B.groups)


def function(script: str, name: str) -> Any:
    """One function of the emitted script, run without its imports."""
    node = next(node for node in ast.parse(script).body if getattr(node, "name", None) == name)
    scope: dict[str, Any] = {"math": __import__("math")}
    exec(compile(ast.Module([node], []), name, "exec"), scope)
    return scope[name]


@pytest.mark.parametrize("changes", ({}, {"window": 1024}, {"causal": False}, {"gated": False}))
def test_script_counts_the_flops_that_the_compiler_counts(changes: dict[str, Any]) -> None:
    model: Model = LLAMA3_8B.model_copy(update=changes)
    files = BACKEND.emit(fit("zero1", model=model))
    sizes = SimpleNamespace(**json.loads(files["deepspeed/model.json"]))
    counted = function(files["deepspeed/train.py"], "flops_per_token")(sizes)
    assert counted == pytest.approx(flops.training(model, 4096).total, rel=1e-12)


@pytest.mark.parametrize(
    "schedule, middle", (("cosine", 0.55), ("linear", 0.55), ("constant", 1.0))
)
def test_learning_rate(schedule: Any, middle: float) -> None:
    train = Train(seq_len=4096, global_batch=128, steps=110, warmup=10, schedule=schedule)
    script = BACKEND.emit(fit("zero1", train=train))["deepspeed/train.py"]
    factor = function(script, "learning_rate_factor")
    assert factor(0, 110) == pytest.approx(0.1) and factor(9, 110) == 1.0
    assert factor(60, 110) == pytest.approx(middle)
    assert factor(110, 110) == pytest.approx(1.0 if schedule == "constant" else 0.1)


def test_stages_are_those_of_the_plan() -> None:
    split = [[7], [9], [9], [7]]
    files = BACKEND.emit(sample_plan("deepspeed", layout=PIPELINE, split=split))
    assert json.loads(files["deepspeed/model.json"])["stage_layers"] == [7, 9, 9, 7]


def test_every_activation_is_an_expression() -> None:
    for write in ACTIVATIONS.values():
        ast.parse(write(python.name("x")), mode="eval")


def alone(text: str) -> LaunchConfig:
    return read_back({"ds.json": text})


def test_reader_says_only_what_it_knows() -> None:
    lone = alone('{"train_batch_size": 64, "zero_optimization": {"stage": "auto"}}')
    assert lone.value("global_batch") == 64 and isinstance(lone.value("zero"), Unknown)
    assert isinstance(lone.value("gpus"), Unknown) and lone.value("pp") is None
    assert lone.value("precision") == "fp32" and lone.value("offload") == "none"
    broken = alone("{")
    assert len(broken.unread) == 1 and not broken.facts


def test_reader_gives_positions() -> None:
    text = '{\n  "bf16": {"enabled": true},\n  "zero_optimization": {\n    "stage": 2\n  }\n}\n'
    fact = next(fact for fact in alone(text).facts if fact.name == "zero")
    assert (fact.value, fact.line, fact.column) == (2, 4, 5)


def test_gpu_rate_is_the_base_of_mfu() -> None:
    gpu = Gpu(
        name="x", arch="sm90", memory=80 * 2**30, memory_bandwidth=1e12, bf16=123e12, nvlink=1e11
    )
    assert "PEAK_FLOPS = 1.23e14" in BACKEND.emit(fit("zero1", gpu=gpu))["deepspeed/train.py"]
