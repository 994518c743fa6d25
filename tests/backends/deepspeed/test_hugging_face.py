"""DeepSpeed with the Llama of transformers: its space, its files, and what reading them gives back."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import black
import pytest

import parc
from parc.backends.deepspeed import BACKEND
from parc.backends.deepspeed.options import Options
from parc.compiler.case import Case
from parc.compiler.model.parameters import total
from parc.compiler.pipeline.even_split import split
from parc.compiler.pipeline.rank_load import common_parameters
from parc.compiler.plan import Layout, Plan
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Train
from parc.dsl.model import Model
from parc.reading.facts import Unknown
from tests.backends.deepspeed.test_emit_and_read import assert_names_resolve
from tests.support.paths import CASES
from tests.support.read_back import assert_plan_is_back, read_back
from tests.support.refusal_lines import assert_lines_clear
from tests.support.sample_plans import GPT_125M, LLAMA3_8B, QWEN3_8B, sample_plan

FOLDER = CASES / "deepspeed_hf"
HF = Options(model="hf")
LAYOUTS = {
    "zero1": Layout(dp_shard=8, zero=1, microbatches=16),
    "zero3": Layout(dp_shard=16, zero=3, microbatches=4, recompute=2),
    "offload": Layout(dp_shard=8, zero=3, offload=2, recompute=2),
    "tensor": Layout(tp=4, dp_shard=4, zero=1, micro_batch=2, microbatches=8),
    "tensor_zero3": Layout(tp=8, dp_shard=2, zero=3, microbatches=4, recompute=2),
    "tensor_alone": Layout(tp=8, zero=1, microbatches=4),
}


def plan(name: str, model: Model = LLAMA3_8B, **given: Any) -> Plan:
    return sample_plan("deepspeed", HF, layout=LAYOUTS[name], model=model, **given)


PLANS = {name: plan(name) for name in LAYOUTS}


@pytest.mark.parametrize("name", LAYOUTS)
def test_files(name: str) -> None:
    chosen = plan(name)
    files = BACKEND.emit(chosen)
    assert_plan_is_back(chosen, files)
    script = files["deepspeed/train.py"]
    assert black.format_str(script, mode=black.Mode()) == script
    assert_names_resolve(script)


@pytest.mark.parametrize("name", LAYOUTS)
def test_ranks_of_a_tensor_group_count_in_the_batch(name: str) -> None:
    chosen, layout = plan(name), LAYOUTS[name]
    config = json.loads(BACKEND.emit(chosen)["deepspeed/ds_config.json"])
    assert config["train_batch_size"] == chosen.job.train.global_batch * layout.tp
    given = config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"]
    assert config["train_batch_size"] == given * layout.gpus
    assert config.get("tensor_parallel") == ({"autotp_size": layout.tp} if layout.tp > 1 else None)


def test_ranks_of_a_tensor_group_read_the_same_sequences() -> None:
    script = BACKEND.emit(plan("tensor"))["deepspeed/train.py"]
    assert "dist.get_rank() // 4, dist.get_world_size() // 4" in script
    assert "engine.train_batch_size() // 4" in script
    assert "// 4" not in BACKEND.emit(plan("zero1"))["deepspeed/train.py"]


def test_the_script_is_of_transformers_and_imports_nothing_in_vain() -> None:
    script = BACKEND.emit(plan("zero1"))["deepspeed/train.py"]
    imported = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(script))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {"LlamaConfig", "LlamaForCausalLM"} <= imported
    used = {node.id for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Name)}
    assert {name.partition(".")[0] for name in imported - {"torch.distributed"}} <= used | {
        "F",
        "dist",
    }


def test_native_stays_the_default_and_knows_no_tensor_parallelism() -> None:
    native = sample_plan("deepspeed", layout=LAYOUTS["zero1"])
    assert "transformers" not in BACKEND.emit(native)["deepspeed/train.py"]
    with pytest.raises(JobError) as refused:
        BACKEND.emit(sample_plan("deepspeed", layout=LAYOUTS["tensor"]))
    assert "`tp` is always 1" in str(refused.value)


def test_the_space_has_tensor_parallelism_and_no_pipeline() -> None:
    domains = BACKEND.target.domains(plan("zero1").job)
    assert max(domains["tp"]) == 8 and 1 not in domains["recompute"]
    assert "pp" not in domains and "cp" not in domains


@pytest.mark.parametrize(
    ("model", "family"),
    [(QWEN3_8B, "Qwen3"), (LLAMA3_8B.model_copy(update={"qkv_bias": True}), "Qwen2")],
)
def test_other_families_are_their_own_class(model: Model, family: str) -> None:
    chosen = plan("zero3", model)
    files = BACKEND.emit(chosen)
    assert_plan_is_back(chosen, files)
    script = files["deepspeed/train.py"]
    assert f"class Decoder({family}ForCausalLM)" in script and "Llama" not in script
    assert_names_resolve(script)
    assert BACKEND.target.domains(chosen.job)["tp"] == (1,)


@pytest.mark.parametrize(
    ("model", "train", "word"),
    [
        (GPT_125M, {}, "layernorm"),
        (QWEN3_8B.model_copy(update={"bias": True}), {}, "bias"),
        (LLAMA3_8B.model_copy(update={"window": 512}), {}, "window"),
        (LLAMA3_8B, {"dropout": 0.1}, "dropout"),
        (LLAMA3_8B.model_copy(update={"hidden": 4112, "head_dim": 128}), {}, "hidden = 4112"),
    ],
)
def test_what_is_no_llama_is_refused(model: Model, train: dict[str, Any], word: str) -> None:
    settings = Train(seq_len=4096, global_batch=128, steps=9, **train)
    chosen = plan("zero1", model, train=settings)
    (found,) = BACKEND.target.refuses(chosen.job)
    assert found.code == "PAR432" and word in found.message and found.help
    assert_lines_clear(BACKEND.target, chosen.job)


def test_the_whole_embedding_is_on_every_rank_of_a_tensor_group() -> None:
    model = LLAMA3_8B
    case, placement = Case(plan("tensor").job, BACKEND.target), split(model, 1, 1)
    ranks = 4
    divided = total(model) - model.vocab * model.hidden - model.hidden * (2 * model.layers + 1)
    held = common_parameters(case, placement, 0, ranks)
    assert held == total(model) - divided * (ranks - 1) // ranks


def test_a_configuration_alone_leaves_tensor_parallelism_open() -> None:
    text = '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 1}'
    values = read_back({"ds_config.json": text}).values()
    assert "tp" not in values and values["global_batch"] == 64
    shared = text.replace("}", ', "tensor_parallel": {"autotp_size": 4}}')
    values = read_back({"ds_config.json": shared}).values()
    assert values["tp"] == 4 and values["global_batch"] == 16
    auto = text.replace("64", '"auto"')
    assert isinstance(read_back({"ds_config.json": auto}).values()["global_batch"], Unknown)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.par")), ids=lambda path: path.stem)
def test_whole_files(path: Path, update: bool) -> None:
    """A job and the script and configuration beside it, without the line that names the version of parc."""
    (made,) = parc.compile(parc.load(path))
    files = BACKEND.emit(made)
    script = [
        line for line in files["deepspeed/train.py"].splitlines() if "Generated by" not in line
    ]
    text = "\n".join([*script, "", files["deepspeed/ds_config.json"]])
    golden = path.with_suffix(".txt")
    if update:
        golden.write_text(text)
    assert golden.read_text() == text
