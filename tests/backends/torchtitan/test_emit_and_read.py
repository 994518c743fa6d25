"""torchtitan: the files of emitted plans, and what reading them gives back."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import black
import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.torchtitan import BACKEND
from parc.backends.torchtitan.emit.registration import ffn_multiplier
from parc.backends.torchtitan.emit.stages import Counted, counted, deal, module_names
from parc.backends.torchtitan.options import Options
from parc.backends.torchtitan.schema import SECTIONS
from parc.compiler.plan import Layout, Plan
from parc.dsl import std_model
from parc.dsl.diagnostics import JobError
from parc.dsl.hardware import Gpu
from parc.dsl.job import Train
from parc.dsl.model import Model
from parc.dsl.settings import Data
from parc.reading.facts import Unknown
from tests.support import sample_plans
from tests.support.read_back import assert_plan_is_back, read_back
from tests.support.sample_plans import LLAMA3_8B, LLAMA3_405B, MIXTRAL_8X7B, QWEN3_8B

Emitted = tuple[Plan, dict[str, str]]

LLAMA_13B = Model(name="llama_13b", layers=40, hidden=5120, heads=40, ffn=13824, vocab=32000)
TIED = Model(name="tied", layers=4, hidden=128, heads=8, ffn=512, vocab=1000, tied=True)
LATENT = std_model("deepseek_v3").model_copy(update={"mtp_layers": 0, "aux_loss": 0.0})
GPT_OSS = std_model("gpt_oss_20b").model_copy(update={"aux_loss": 0.0})
QWEN_MOE = QWEN3_8B.model_copy(update={"experts": 128, "topk": 8, "expert_ffn": 768})
LONG = Train(seq_len=32768, global_batch=4, steps=100)
FP8 = Train(seq_len=8192, global_batch=16, steps=100, precision="fp8", compile=True)


def plan(
    model: Model = LLAMA3_8B,
    options: Options | None = None,
    *,
    train: Train | None = None,
    gpu: Gpu = sample_plans.H100,
    split: Sequence[Sequence[int]] | None = None,
    **layout: int,
) -> Plan:
    return sample_plans.sample_plan(
        "torchtitan",
        options,
        model=model,
        layout=Layout(**layout),
        train=train,
        gpu=gpu,
        split=split,
    )


TURNED = ((4, 2), (4, 4), (4, 4), (5, 5))
turned = partial(plan, dp_shard=2, pp=4, vpp=2, tp=2, zero=1, split=TURNED)
UNEVEN = ((3, 5), (4, 5), (4, 4), (4, 3))
LLAMA3_ENDS = ((7,), *((8,),) * 14, (7,))
PLANS = {
    "fsdp": plan(dp_shard=8, zero=3, recompute=1, microbatches=2),
    "fsdp_kept": plan(dp_shard=8, zero=2, recompute=2, micro_batch=2, microbatches=2),
    "hsdp": plan(dp_replicate=4, dp_shard=8, zero=3, microbatches=2),
    "ddp_tied": plan(TIED, dp_replicate=8, zero=0, microbatches=4),
    "single": plan(TIED, zero=0, microbatches=4),
    "tensor": plan(dp_shard=8, tp=4, zero=3, microbatches=2),
    "pipeline": plan(LLAMA_13B, dp_replicate=2, dp_shard=8, tp=4, pp=2, zero=1, microbatches=4),
    "pipeline_405b": plan(
        LLAMA3_405B, dp_shard=128, pp=16, tp=8, zero=1, microbatches=16, split=LLAMA3_ENDS
    ),
    "interleaved": plan(LLAMA3_405B, dp_shard=16, pp=8, vpp=2, tp=8, zero=1, microbatches=16),
    "interleaved_uneven": plan(
        dp_shard=2, pp=4, vpp=2, tp=2, zero=1, micro_batch=2, microbatches=8, split=UNEVEN
    ),
    "v_shaped": turned(options=Options(schedule="zbv"), microbatches=16, order=3),
    "dualpipev": turned(options=Options(schedule="dualpipev"), microbatches=8, order=4),
    "context": plan(dp_shard=2, cp=4, tp=2, zero=3, microbatches=2, recompute=2, train=LONG),
    "qwen3": plan(QWEN3_8B, dp_shard=8, tp=2, zero=3, microbatches=2, recompute=1),
    "qwen3_moe": plan(QWEN_MOE, dp_shard=16, tp=2, ep=16, zero=3, microbatches=2),
    "qwen3_moe_tp": plan(QWEN_MOE, dp_shard=16, tp=2, etp=2, zero=3, microbatches=2),
    "mixtral": plan(MIXTRAL_8X7B, dp_shard=64, ep=8, zero=3, microbatches=2, recompute=2),
    "gpt_oss": plan(GPT_OSS, dp_shard=16, tp=2, ep=16, zero=3, microbatches=2),
    "deepseek_v3": plan(LATENT, dp_shard=32, pp=8, vpp=2, ep=32, zero=1, microbatches=32),
    "fp8": plan(dp_shard=8, tp=2, zero=3, microbatches=2, train=FP8),
}


@pytest.fixture(params=PLANS)
def emitted(request: pytest.FixtureRequest) -> Emitted:
    chosen = PLANS[request.param]
    return chosen, BACKEND.emit(chosen)


def toml_of(chosen: Plan) -> dict[str, Any]:
    return tomllib.loads(BACKEND.emit(chosen)["torchtitan/train.toml"])


def test_reading_gives_the_plan_back(emitted: Emitted) -> None:
    chosen, files = emitted
    assert_plan_is_back(chosen, files)


def test_facts_point_at_their_lines(emitted: Emitted) -> None:
    _, files = emitted
    facts = read_back(files).facts
    assert all(1 <= fact.line <= files[fact.path].count("\n") for fact in facts)
    line = next(fact for fact in facts if fact.name == "tp").line
    assert "tensor_parallel_degree" in files["torchtitan/train.toml"].splitlines()[line - 1]


def test_toml_has_only_keys_of_the_release(emitted: Emitted) -> None:
    chosen, _ = emitted

    def names(table: Mapping[str, object], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
        for key, value in table.items():
            if isinstance(value, dict):
                yield from names(value, (*path, key))
            else:
                yield ".".join(path), key

    for section, key in names(toml_of(chosen)):
        assert key in SECTIONS[section], f"{section}.{key}"


def test_every_degree_is_explicit_and_fills_the_world(emitted: Emitted) -> None:
    chosen, _ = emitted
    degrees = toml_of(chosen)["parallelism"]
    keys = ("data_parallel_replicate", "data_parallel_shard", "tensor_parallel", "context_parallel",
            "pipeline_parallel")  # fmt: skip
    assert prod(degrees[f"{key}_degree"] for key in keys) == chosen.layout.gpus


def test_module_is_black_stable_and_parses(emitted: Emitted) -> None:
    text = emitted[1]["torchtitan/parc_model.py"]
    ast.parse(text)
    assert black.format_str(text, mode=black.Mode()) == text


def test_every_python_and_toml_name_is_registered_alike(emitted: Emitted) -> None:
    chosen, files = emitted
    flavor = toml_of(chosen)["model"]["flavor"]
    assert f'["{flavor}"]' in files["torchtitan/parc_model.py"]


@pytest.mark.parametrize(
    "tool", [["bash", "-n"], ["shellcheck", "-S", "warning"]], ids=lambda t: t[0]
)
def test_launch_script_is_clean(tool: list[str], tmp_path: Path) -> None:
    for name, chosen in PLANS.items():
        path = tmp_path / f"{name}.sh"
        path.write_text(BACKEND.emit(chosen)["torchtitan/launch.sh"])
        done = subprocess.run([*tool, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def launched(
    chosen: Plan, folder: Path, *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs the emitted script with a torchrun that prints its words and PYTHONPATH."""
    (folder / "bin").mkdir()
    stub = folder / "bin" / "torchrun"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$PYTHONPATH" "$@"\n')
    stub.chmod(0o755)
    script = folder / "launch.sh"
    for name in ("launch.sh", "run.json"):
        (folder / name).write_text(BACKEND.emit(chosen)[f"torchtitan/{name}"])
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    own = {"PATH": path, "RUN_DIR": str(folder / "run"), "HEALTH_CHECK": "0"}
    return subprocess.run(
        ["bash", str(script), *words],
        capture_output=True,
        text=True,
        env=own | environment,
    )


def test_launch_script_passes_paths_and_arguments(tmp_path: Path) -> None:
    done = launched(PLANS["fsdp"], tmp_path, "--training.steps=10", DUMP_FOLDER=f"{tmp_path}/a b")
    announced, *words = done.stdout.splitlines()
    assert announced.startswith("parc run ") and words[0] == str(tmp_path)
    assert words[1:4] == ["--nnodes=1", "--nproc-per-node=8", "--node-rank=0"]
    assert words[-2:] == [f"--job.dump_folder={tmp_path}/a b", "--training.steps=10"]
    assert f"--job.config_file={tmp_path}/train.toml" in words


def test_launch_script_refuses_another_shape(tmp_path: Path) -> None:
    done = launched(PLANS["hsdp"], tmp_path)
    assert done.returncode == 2
    assert "needs 4 nodes of 8 GPUs, not NNODES=1" in done.stderr
    (tmp_path / "again").mkdir()
    place = {"NNODES": "4", "NODE_RANK": "3", "MASTER_ADDR": "first"}
    assert launched(PLANS["hsdp"], tmp_path / "again", **place).returncode == 0


def llama3_width(hidden: int, multiple_of: int, multiplier: float) -> int:
    """torchtitan 0.2.2 models/llama3/model/model.py:332, given hidden_dim = 4 * dim."""
    width = int(2 * (4 * hidden) / 3)
    width = int(multiplier * width)
    return multiple_of * ((width + multiple_of - 1) // multiple_of)


@pytest.mark.parametrize("hidden", [1, 64, 4096, 5120, 8192, 16384, 12288, 999_999])
def test_feed_forward_width_is_exact(hidden: int) -> None:
    for ffn in [1, 2, 3, 200, 690, 11008, 13824, 14336, 28672, 53248, 10**6 + 3, 9_999_991]:
        assert llama3_width(hidden, 1, ffn_multiplier(hidden, ffn)) == ffn


@pytest.mark.parametrize("name", ["fsdp", "pipeline", "pipeline_405b"])
def test_emitted_width_is_the_job_s(name: str) -> None:
    chosen = PLANS[name]
    module = BACKEND.emit(chosen)["torchtitan/parc_model.py"]
    (multiplier,) = map(float, re.findall(r"ffn_dim_multiplier=([\d.]+)", module))
    assert "multiple_of=1," in module
    assert llama3_width(chosen.job.model.hidden, 1, multiplier) == chosen.job.model.ffn


#: Layers, stages, first and last less, and what torchtitan's generate_llm_fqn_per_model_part made of them.
DEALT = [
    (80, 11, 1, 1, (10, 11, 10, 10, 10, 10, 10, 9)),
    (126, 8, 1, 1, (7, *(8,) * 14, 7)),
    (32, 4, 0, 0, (4,) * 8),
    (30, 9, 2, 1, (7, 8, 8, 7)),
    (61, 11, 1, 2, (10, 11, 11, 11, 10, 8)),
    (2, 1, 2, 1, None),
]


@pytest.mark.parametrize("layers, per_stage, first, last, split", DEALT)
def test_layers_are_dealt_as_torchtitan_does(
    layers: int, per_stage: int, first: int, last: int, split: tuple[int, ...] | None
) -> None:
    assert deal(layers, per_stage, first, last) == split


def test_simplest_spelling_of_a_split() -> None:
    assert counted((7, *(8,) * 14, 7)) == Counted(8, 1, 1)
    assert counted((4,) * 8) == Counted(4, 0, 0)
    assert counted((3, 4, 4, 4, 5, 5, 4, 3)) is None
    assert module_names((1, 0, 2)) == [
        ["tok_embeddings", "layers.0"],
        [],
        ["layers.1", "layers.2", "norm", "output"],
    ]


def test_stages_stand_in_the_order_of_the_model() -> None:
    parts = toml_of(PLANS["interleaved_uneven"])["parallelism"]["module_fqns_per_model_part"]
    layers = [[name for name in part if name.startswith("layers.")] for part in parts]
    assert [len(part) for part in layers] == [3, 4, 4, 4, 5, 5, 4, 3]
    assert sum(layers, []) == [f"layers.{index}" for index in range(32)]
    assert parts[0][0] == "tok_embeddings" and parts[-1][-2:] == ["norm", "output"]


def test_stages_in_the_shape_of_a_v_stand_in_the_order_of_the_model() -> None:
    settings = toml_of(PLANS["v_shaped"])["parallelism"]
    assert settings["pipeline_parallel_schedule"] == "ZBVZeroBubble"
    parts = settings["module_fqns_per_model_part"]
    counts = [sum(name.startswith("layers.") for name in part) for part in parts]
    assert counts == [4, 4, 4, 5, 5, 4, 4, 2]
    dual = toml_of(PLANS["dualpipev"])["parallelism"]
    assert dual.pop("pipeline_parallel_expert_parallel_overlap") is False
    assert dual == settings | {"pipeline_parallel_schedule": "DualPipeV"}


def test_batches_with_and_without_a_pipeline() -> None:
    accumulated = toml_of(PLANS["fsdp_kept"])
    assert accumulated["training"]["local_batch_size"] == 2
    assert accumulated["training"]["global_batch_size"] == 2 * 8 * 2
    assert "pipeline_parallel_schedule" not in accumulated["parallelism"]
    piped = toml_of(PLANS["interleaved_uneven"])
    assert piped["training"]["local_batch_size"] == 16
    assert piped["training"]["global_batch_size"] == 32
    assert piped["parallelism"]["pipeline_parallel_microbatch_size"] == 2


@pytest.mark.parametrize(
    "name, policy",
    [("single", None), ("pipeline", "never"), ("fsdp_kept", "never"), ("fsdp", "always")],
)
def test_zero_stage_is_the_reshard_policy(name: str, policy: str | None) -> None:
    assert toml_of(PLANS[name])["parallelism"].get("fsdp_reshard_after_forward") == policy


def test_precision_and_schedule() -> None:
    settings = toml_of(PLANS["fp8"])
    assert settings["model"]["converters"] == ["quantize.linear.float8"]
    assert settings["quantize"]["linear"]["float8"]["recipe_name"] == "tensorwise"
    assert settings["compile"] == {"enable": True, "components": ["model", "loss"]}
    train = Train(seq_len=4096, global_batch=16, steps=9, schedule="constant", clip_grad=0.0)
    constant = toml_of(plan(dp_shard=8, zero=3, microbatches=2, train=train))
    assert constant["lr_scheduler"]["decay_ratio"] == 0.0
    assert constant["training"]["max_norm"] == float("inf")
    experts = Train(seq_len=4096, global_batch=32, steps=9, precision="mxfp8")
    mixed = toml_of(
        plan(
            QWEN_MOE,
            gpu=sample_plans.B200,
            dp_shard=16,
            ep=16,
            zero=3,
            microbatches=2,
            train=experts,
        )
    )
    assert mixed["model"]["converters"] == ["quantize.linear.mx", "quantize.grouped_mm.mx"]
    assert mixed["quantize"]["grouped_mm"]["mx"] == {"fqns": ["experts"]}


def test_older_gpus_take_no_grouped_products() -> None:
    ampere = plan(MIXTRAL_8X7B, gpu=sample_plans.A100, dp_shard=8, ep=8, zero=3, microbatches=2)
    assert "use_grouped_mm=False" in BACKEND.emit(ampere)["torchtitan/parc_model.py"]
    assert "use_grouped_mm=True" in BACKEND.emit(PLANS["mixtral"])["torchtitan/parc_model.py"]


def test_options_reach_the_files() -> None:
    options = Options(
        data=Data(parts=(('/data/"c4"', 1.0),)),
        hf_assets_path="/tok",
        extra={"comm.train_timeout_seconds": 300, "checkpoint.async_mode": "disabled"},
    )
    chosen = plan(LATENT, options, dp_shard=32, ep=32, zero=3, microbatches=2)
    files = BACKEND.emit(chosen)
    settings = tomllib.loads(files["torchtitan/train.toml"])
    assert settings["training"]["dataset_path"] == '/data/"c4"'
    assert settings["comm"] == {"init_timeout_seconds": 3600, "train_timeout_seconds": 300}
    assert settings["checkpoint"]["async_mode"] == "disabled"


@pytest.mark.parametrize(
    "name, code",
    [("parallelism.tensor_parallel_degree", "PAR330"), ("comm.train_timeout_second", "PAR365")],
)
def test_extra_settings_are_checked(name: str, code: str) -> None:
    with pytest.raises(JobError) as refused:
        BACKEND.emit(plan(LLAMA3_8B, Options(extra={name: 2}), dp_shard=8, zero=3, microbatches=2))
    assert [diagnostic.code for diagnostic in refused.value.diagnostics] == [code]


FOREIGN = """
[model]
flavor = "8B"
[training]
seq_len = 8192
local_batch_size = 1
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = "two"
"""


def test_reader_says_unknown_instead_of_guessing() -> None:
    values = read_back({"train.toml": FOREIGN}).values()
    unknown = {name for name, value in values.items() if isinstance(value, Unknown)}
    assert unknown >= {
        "tp",
        "dp",
        "gpus",
        "layers",
        "hidden",
        "heads",
        "kv_heads",
        "zero",
    }
    assert (
        values["seq_len"] == 8192
        and values["micro_batch"] == 1
        and values["recompute"] == "selective"
    )
    assert "global_batch" not in values and isinstance(values["nodes"], Unknown)


def test_rest_of_the_world_goes_to_the_shards() -> None:
    text = FOREIGN.replace('"two"', "2")
    script = (
        "torchrun --nnodes=4 --nproc_per_node 8 -m torchtitan.train --job.config_file train.toml\n"
    )
    values = read_back({"train.toml": text, "run.sh": script}).values()
    wanted = {"gpus": 32, "dp": 16, "nodes": 4, "global_batch": 16, "zero": 3}
    assert {name: values[name] for name in wanted} == wanted


def test_unreadable_files_are_named() -> None:
    """A table without a setting is no config, and nothing that is not read."""
    files = {"a.toml": "[", "b.py": "Trainer.Config(", "d.toml": "[training]\n"}
    unread = [unread.path for job in read_jobs(files) for unread in job.unread]
    assert unread == ["a.toml", "b.py"]
