"""What parc does not do: in jobs, in --set, as models, as GPUs and in imported scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parc.dsl import unsupported
from parc.dsl.library import std_entries
from parc.dsl.schema import CLASSES, setting_types
from parc.dsl.unsupported import (
    ADAPTERS,
    SECOND_MODEL,
    STATE_SPACE,
    TWO_STACKS,
    VISION,
    Unsupported,
)
from tests.support.command_line import JOB, Parc

SETTINGS = {
    "pattern": STATE_SPACE, "mamba_heads": STATE_SPACE, "mamba_d_state": STATE_SPACE,
    "hybrid_override_pattern": STATE_SPACE, "linear_conv_kernel_dim": STATE_SPACE,
    "ssm_state_size": STATE_SPACE,
    "vision_layers": VISION, "image_size": VISION, "audio": VISION, "mm_vision_tower": VISION,
    "dpo_beta": SECOND_MODEL, "rollout": SECOND_MODEL, "ref_model": SECOND_MODEL, "grpo": SECOND_MODEL,
    "kl_coef": SECOND_MODEL, "teacher_model": SECOND_MODEL, "lora_rank": ADAPTERS, "load_in_4bit": ADAPTERS,
    "use_peft": ADAPTERS, "encoder_layers": TWO_STACKS,
}  # fmt: skip
MODELS = {
    "nemotron_h": STATE_SPACE, "qwen3_next": STATE_SPACE, "Qwen/Qwen3-Next-80B-A3B-Instruct": STATE_SPACE,
    "nvidia/Nemotron-H-8B-Base-8K": STATE_SPACE, "state-spaces/mamba2-2.7b": STATE_SPACE,
    "jamba": STATE_SPACE,
    "tiiuae/Falcon-H1-7B-Base": STATE_SPACE, "ibm-granite/granite-4.0-h-small": STATE_SPACE,
    "qwen2_5_vl": VISION, "Qwen/Qwen2.5-VL-7B-Instruct": VISION, "qwen3_vl_moe": VISION, "llava_next": VISION,
    "mistralai/Pixtral-12B-2409": VISION, "openai/whisper-large-v3": VISION, "google-t5/t5-base": TWO_STACKS,
    "meta-llama/Llama-3.2-11B-Vision": VISION,
}  # fmt: skip
#: Models that parc reads, or could: none is taken for another kind.
PLAIN = ("Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "nvidia/Llama-3.1-Nemotron-70B-Instruct",
         "MiniMaxAI/MiniMax-M2", "google/gemma-3-27b-it", "THUDM/GLM-4.5", "microsoft/phi-4", "vllm/x",
         "mistralai/Mistral-7B-v0.3",
         "ibm-granite/granite-3.3-8b-base", "deepseek-ai/DeepSeek-V3")  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    assert unsupported.of_setting(name) is SETTINGS[name]


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    assert unsupported.of_model(name) is MODELS[name]


def test_what_parc_does_is_not_among_them() -> None:
    known = {key for of in CLASSES.values() for key in setting_types(of)} - {"image"}
    assert {key for key in known if unsupported.of_setting(key)} == set()
    library = {name for each in std_entries() for name in (each.name, *each.aliases)}
    assert {name for name in {*library, *PLAIN} if unsupported.of_model(name)} == set()


@pytest.mark.parametrize(
    ("change", "subject"),
    [("train.method=dpo", SECOND_MODEL), ("model.mamba_heads=4", STATE_SPACE),
     ("target.verl.data=x", SECOND_MODEL), ("train.lora_rank=4", ADAPTERS)],
)  # fmt: skip
def test_overrides(run: Parc, change: str, subject: Unsupported) -> None:
    Path("job.par").write_text(JOB)
    ran = run("plan", "job.par", "--set", change)
    assert ran.code == 2 and subject.what in ran.err and subject.instead in ran.err


@pytest.mark.parametrize(
    ("config", "subject"),
    [({"model_type": "nemotron_h"}, STATE_SPACE), ({"model_type": "qwen3_next"}, STATE_SPACE),
     ({"model_type": "new_one", "mamba_d_state": 16}, STATE_SPACE), ({"model_type": "qwen2_5_vl"}, VISION),
     ({"model_type": "newer", "vision_config": {"depth": 32}}, VISION)],
)  # fmt: skip
def test_configs(run: Parc, config: dict[str, object], subject: Unsupported) -> None:
    Path("config.json").write_text(json.dumps(config))
    for command in (("init", "--hf", "config.json"), ("import", "config.json")):
        ran = run(*command, "-o", "new.par")
        assert ran.code == 2 and subject.what in ran.err and subject.instead in ran.err
        assert "did you mean" not in ran.err and not Path("new.par").exists()


@pytest.mark.parametrize(
    "model", ["qwen3-next-80b-a3b", "nemotron-h-8b", "Qwen/Qwen2.5-VL-7B-Instruct"]
)
def test_names_of_models(run: Parc, model: str) -> None:
    ran = run("init", "--model", model, "--gpus", "8xH100", "-o", "new.par")
    subject = unsupported.of_model(model)
    assert subject and ran.code == 2 and "PAR195" in ran.err and subject.what in ran.err
    assert "did you mean" not in ran.err


def test_gpus_of_several_kinds(run: Parc) -> None:
    ran = run("init", "--model", "llama3_8b", "--gpus", "8xH100,8xA100", "-o", "new.par")
    assert ran.code == 2 and "GPUs of several kinds" in ran.err


def test_an_imported_hybrid_is_told(run: Parc) -> None:
    options = "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --micro-batch-size 1"
    more = "--max-position-embeddings 512 --hybrid-override-pattern M-M* --mamba-state-dim 16"
    Path("train.sh").write_text(f"torchrun --nproc-per-node 8 pretrain_mamba.py {options} {more}\n")
    ran = run("import", "train.sh", "-o", "new.par")
    assert ran.code == 0 and ran.err.count("warning[PAR195]") == 1
    assert (
        "`--hybrid-override-pattern` asks for state-space" in ran.err and "another model" in ran.err
    )
