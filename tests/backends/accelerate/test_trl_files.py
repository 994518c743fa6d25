"""Files of TRL's trainer under accelerate: what they say, and what reading them gives back."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from typing import Any

import black
import pytest
import yaml

from parc.backends.accelerate import BACKEND
from parc.backends.accelerate.options import Options
from parc.backends.checkpoint_files import Step
from parc.compiler.plan import Layout, Plan
from parc.dsl.job import Train
from parc.dsl.settings import Data
from tests.support.read_back import assert_plan_is_back, read_back
from tests.support.sample_plans import LLAMA3_8B, QWEN3_8B, sample_plan, train_of

LORA: dict[str, Any] = {"weights": "/models/llama", "tune": "lora", "adapter_rank": 8}
LAYOUTS = {
    "divided": Layout(dp_shard=8, zero=3, microbatches=16, recompute=2),
    "kept": Layout(dp_shard=8, zero=2, microbatches=16),
    "copies": Layout(dp_shard=4, dp_replicate=2, zero=3, microbatches=16),
}
#: Settings of `train` that the files say in their own words.
TRAINED: dict[str, dict[str, Any]] = {
    "full": {"weights": "/models/llama", "tune": "full"},
    "lora": LORA,
    "attention": {
        **LORA,
        "adapter_targets": "attention",
        "adapter_alpha": 8,
        "adapter_dropout": 0.1,
    },
    "qlora": {**LORA, "tune": "qlora"},
    "linear": {"schedule": "linear", "warmup": 7, "learning_rate": 2e-4, "min_learning_rate": 1e-5},
    "constant": {"schedule": "constant", "warmup": 0},
    "wsd": {"schedule": "wsd", "decay_steps": 20, "decay_style": "sqrt"},
    "rates": {"beta2": 0.99, "weight_decay": 0.01, "clip_grad": 0.5, "seed": 7},
    "tracked": {"tracker": "tensorboard", "keep_checkpoints": 2, "checkpoint_interval": 50},
    "unfused": {"attention": "unfused"},
}


def plan_of(
    layout: str = "divided", options: Options | None = None, model: Any = LLAMA3_8B, **train: Any
) -> Plan:
    return sample_plan(
        "accelerate",
        options or Options(),
        layout=LAYOUTS[layout],
        train=train_of(**train),
        model=model,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("model", [LLAMA3_8B, QWEN3_8B], ids=lambda model: model.name)
def test_a_plan_is_back(layout: str, model: Any) -> None:
    plan = plan_of(layout, model=model, **LORA)
    files = BACKEND.emit(plan)
    assert_plan_is_back(plan, files)
    block = BACKEND.reader.model(read_back(files))
    for name in ("ffn", "vocab", "rope_theta", "qk_norm"):
        given = block.get(name, type(model).model_fields[name].default)
        assert given == getattr(model, name), name


@pytest.mark.parametrize("name", TRAINED)
def test_settings_of_the_training_are_back(name: str) -> None:
    plan = plan_of(**TRAINED[name])
    found = BACKEND.reader.train(read_back(BACKEND.emit(plan)))
    again = Train.model_validate({"seq_len": 4096, "global_batch": 128, **found})
    asked = plan.job.train
    for setting in TRAINED[name]:
        assert getattr(again, setting) == getattr(asked, setting), setting
    assert again.warmup_steps == asked.warmup_steps
    assert again.min_learning_rate == pytest.approx(asked.min_learning_rate)


def test_the_block_is_back() -> None:
    data = Data(parts=(("/data/tokens.bin", 1.0),))
    for given in (
        {"log_interval": 3, "data": data},
        {"log_interval": 3, "save": None},
        {"log_interval": 3, "save": "/runs/x"},
    ):
        files = BACKEND.emit(plan_of(options=Options.model_validate(given)))
        assert BACKEND.reader.options(read_back(files)) == given


def test_what_no_job_says_is_not_taken_for_what_one_does() -> None:
    files = BACKEND.emit(plan_of(**{**LORA, "tune": "qlora"}))
    for old, new, name in (
        ("warmup_stable_decay", "polynomial", "lr_scheduler_type"),
        ("decay_type: cosine", "decay_type: other", "lr_scheduler_kwargs.decay_type"),
        ("adamw_torch_fused", "lion_32bit", "optim"),
        ("bnb_4bit_quant_type: nf4", "bnb_4bit_quant_type: fp4", "bnb_4bit_quant_type"),
        ("use_bnb_nested_quant: true", "use_bnb_nested_quant: false", "use_bnb_nested_quant"),
    ):
        text = files["accelerate/train.yaml"]
        assert old in text
        config = read_back({**files, "accelerate/train.yaml": text.replace(old, new)})
        setting = config.setting("yaml", name)
        assert setting is not None and BACKEND.reader.says(config, setting) is None
        assert not name.startswith("lr") or "schedule" not in BACKEND.reader.train(config)
        assert BACKEND.reader.says(config, config.all("yaml")[0]) is True


def test_what_the_files_say() -> None:
    files = BACKEND.emit(plan_of("copies", **LORA))
    config = yaml.safe_load(files["accelerate/accelerate.yaml"])
    assert config["fsdp_config"]["fsdp_version"] == 2
    assert config["fsdp_config"]["fsdp_transformer_layer_cls_to_wrap"] == "LlamaDecoderLayer"
    assert config["parallelism_config"]["parallelism_config_dp_replicate_size"] == 2
    arguments = yaml.safe_load(files["accelerate/train.yaml"])
    assert arguments["lora_r"] == 8 and arguments["max_length"] == 4096
    kwargs = arguments["accelerator_config"]["gradient_accumulation_kwargs"]
    assert kwargs == {"sync_each_batch": True}
    whole = yaml.safe_load(BACKEND.emit(plan_of())["accelerate/accelerate.yaml"])
    assert "parallelism_config" not in whole


def test_weights_in_four_bits_are_divided() -> None:
    """Kept in 16-bit elements, as accelerate leaves integers whole; read by every rank, as it sends none."""
    plan = plan_of("copies", **{**LORA, "tune": "qlora"})
    files = BACKEND.emit(plan)
    assert_plan_is_back(plan, files)
    arguments = yaml.safe_load(files["accelerate/train.yaml"])
    assert arguments["load_in_4bit"] and arguments["use_bnb_nested_quant"]
    assert arguments["bnb_4bit_quant_storage"] == arguments["dtype"] == "bfloat16"
    config = yaml.safe_load(files["accelerate/accelerate.yaml"])
    assert config["fsdp_config"]["fsdp_cpu_ram_efficient_loading"] is False
    assert "bitsandbytes" in files["accelerate/train.py"]
    plain = BACKEND.emit(plan_of("copies", **LORA))
    assert not any("4bit" in text or "bitsandbytes" in text for text in plain.values())


@pytest.mark.parametrize("tune", ["lora", "qlora"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_scripts_are_sound(layout: str, tune: str) -> None:
    files = BACKEND.emit(plan_of(layout, **{**LORA, "tune": tune}))
    script = files["accelerate/train.py"]
    ast.parse(script)
    assert black.format_str(script, mode=black.Mode()) == script
    subprocess.run(["bash", "-n"], input=files["accelerate/launch.sh"], text=True, check=True)


def test_the_last_whole_step_is_found(tmp_path: Path) -> None:
    for step, whole in ((5, True), (100, True), (120, False)):
        (tmp_path / f"checkpoint-{step}").mkdir()
        if whole:
            (tmp_path / f"checkpoint-{step}" / "trainer_state.json").touch()
    command = str(BACKEND.last_step(plan_of()))
    found = subprocess.run(
        ["bash", "-c", command], env={"SAVE": str(tmp_path)}, capture_output=True, text=True
    )
    assert found.stdout == "100\n"


def test_the_newest_checkpoint_is_told(tmp_path: Path) -> None:
    for step, names in (
        (5, ("trainer_state.json", "pytorch_model_fsdp_0", "rng_state_0.pth", "rng_state_1.pth")),
        (9, ("pytorch_model_fsdp_0",)),
    ):
        (tmp_path / f"checkpoint-{step}").mkdir()
        for name in names:
            (tmp_path / f"checkpoint-{step}" / name).touch()
    newest = BACKEND.checkpoints.newest(Step(str(tmp_path)))
    assert newest == "checkpoint-5"
    saved = BACKEND.checkpoints.written(Step(str(tmp_path / newest)))
    assert saved is not None and (saved.step, saved.ranks) == (5, 2)
    assert BACKEND.checkpoints.written(Step(str(tmp_path / "checkpoint-9"))) is None


def test_the_log_of_train_py_is_read() -> None:
    lines = "[default0]:step {} of 20: loss 4.5, grad norm 0.3, lr 1.000e-02, 0.{}50 s a step, 3,300 tokens/s"
    log = BACKEND.reader.log("\n".join(lines.format(step, step) for step in (1, 2, 3)))
    assert log is not None and [pace.value for pace in log.paces] == [0.15, 0.25, 0.35]
    assert BACKEND.reader.log("step 1/20 | loss 4.5") is None
