"""What a job says of its model and training comes back from the emitted files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import parc.dsl
from parc.backends.deepspeed import BACKEND
from parc.backends.deepspeed.options import Options
from parc.backends.deepspeed.read import READER
from parc.dsl import std_model
from parc.dsl.model import Model
from parc.dsl.settings import Data
from parc.lint.unexpressed import unexpressed
from tests.support.read_back import read_back
from tests.support.sample_plans import LLAMA3_8B, sample_job, sample_plan, train_of

STD = Path(parc.dsl.__file__).parent / "std"
NAMES = re.findall(r"^model (\w+)", (STD / "models.par").read_text(), re.MULTILINE)
MODELS = {
    name: std_model(name)
    for name in NAMES
    if not BACKEND.target.refuses(sample_job("deepspeed", model=std_model(name)))
}
#: Every choice that no model of std has made.
ODD: dict[str, dict[str, Any]] = {
    "sinks": {"attention_sinks": True, "window": 1024, "full_attention_every": 4},
    "caps": {"logit_softcap": 30.0},
    "gates": {"activation": "quick_gelu", "glu_clamp": 7.0, "glu_offset": 1.0},
    "parallel": {"parallel_block": True, "norm": "layernorm", "gated": False, "activation": "gelu"},
    "weights": {"init_std": 0.006, "init_scaled": False, "qkv_bias": True},
    "linear": {"rope_scaling": "linear", "rope_factor": 4.0},
    "yarn": {
        "rope_scaling": "yarn", "rope_factor": 4.0, "rope_original_positions": 4096, "rope_mscale": 0.7,
        "rope_truncate": False,
    },
}  # fmt: skip
MODELS |= {name: LLAMA3_8B.model_copy(update=changes) for name, changes in ODD.items()}


def whole(model: Model) -> dict[str, Any]:
    """All fields, with what is given by others spelled out."""
    derived = {
        "name": "",
        "kv_heads": model.groups,
        "head_dim": model.head_size,
        "activation": model.activation_name,
    }
    return model.model_dump() | derived


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_itself_again(name: str) -> None:
    model = MODELS[name]
    plan = sample_plan("deepspeed", model=model)
    found = Model.model_validate(READER.model(read_back(BACKEND.emit(plan))))
    left = {"max_positions": found.max_positions} if model.position == "learned" else {}
    if model.window is not None and model.window >= plan.job.train.seq_len:
        left["window"] = None  # it hides nothing, and train.py has none
    assert whole(found) == whole(model) | left


def test_training_is_itself_again() -> None:
    given: dict[str, Any] = {
        "schedule": "wsd", "decay_style": "sqrt", "decay_steps": 20, "warmup": 5, "learning_rate": 1e-3,
        "min_learning_rate": 1e-5, "ramp_from": 32, "ramp_tokens": 10**6, "keep_checkpoints": 2,
        "collective_timeout": 90.0, "weights": "/models/a b", "optimizer": "sgd", "seed": 7,
        "checkpoint_interval": 10, "clip_grad": 0.5, "weight_decay": 0.0, "attention": "unfused",
        "elastic": True, "tracker": "wandb",
    }  # fmt: skip
    files = BACKEND.emit(sample_plan("deepspeed", train=train_of(**given)))
    found = READER.train(read_back(files))
    assert {name: found.get(name) for name in given} == given


def test_options_are_themselves_again() -> None:
    options = Options(
        data=Data(parts=(("/a", 0.7), ("/b c", 0.3))),
        valid_data=Data(parts=(("/v", 1.0),)),
        data_dtype="uint16",
        tensorboard="runs",
        wandb="project",
        log_interval=5,
    )
    job = read_back(BACKEND.emit(sample_plan("deepspeed", options)))
    assert Options(**READER.options(job)) == options
    assert list(unexpressed(job)) == []
