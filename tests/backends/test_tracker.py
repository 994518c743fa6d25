"""`train.tracker` in the files of every target, what goes before it, and what is read back."""

from __future__ import annotations

import json
import tomllib
from typing import Any, Literal

import pytest

from parc.backends import BACKENDS
from parc.backends.deepspeed.options import Options as DeepSpeed
from parc.backends.megatron.options import Options as Megatron
from parc.backends.torchtitan.options import Options as TorchTitan
from parc.compiler.plan import Layout
from parc.lint.unexpressed import unexpressed
from tests.support.read_back import read_back
from tests.support.sample_plans import sample_plan, train_of

Tracker = Literal["tensorboard", "wandb"]
LAYOUT = Layout(dp_shard=8, zero=2, micro_batch=1, microbatches=2)


def files(target: str, tracker: Tracker | None, options: Any = None) -> dict[str, str]:
    default = Megatron() if target == "megatron" else None
    train = train_of(tracker=tracker, global_batch=16)
    plan = sample_plan(target, options or default, layout=LAYOUT, train=train)
    return BACKENDS[target].emit(plan)


def test_megatron() -> None:
    board = files("megatron", "tensorboard")["megatron/pretrain.sh"]
    assert 'TENSORBOARD_DIR="${TENSORBOARD_DIR:-$RUN_DIR/tensorboard}"' in board
    assert '--tensorboard-dir="$TENSORBOARD_DIR"' in board and "--wandb" not in board
    # Megatron-LM sends to Weights & Biases what it also writes for TensorBoard.
    sent = files("megatron", "wandb")["megatron/pretrain.sh"]
    assert "--wandb-project llama3_8b" in sent and '--tensorboard-dir="$TENSORBOARD_DIR"' in sent


def test_torchtitan() -> None:
    board = tomllib.loads(files("torchtitan", "tensorboard")["torchtitan/train.toml"])["metrics"]
    assert (board["enable_tensorboard"], board["save_tb_folder"]) == (True, "tensorboard")
    sent = files("torchtitan", "wandb")
    assert tomllib.loads(sent["torchtitan/train.toml"])["metrics"]["enable_wandb"] is True
    assert 'WANDB_PROJECT="${WANDB_PROJECT:-llama3_8b}"' in sent["torchtitan/launch.sh"]
    python = files("torchtitan", "wandb", TorchTitan(version="0.3"))["torchtitan/parc_job.py"]
    assert "enable_wandb=True" in python


def test_deepspeed() -> None:
    board = files("deepspeed", "tensorboard")
    section = json.loads(board["deepspeed/ds_config.json"])["tensorboard"]
    assert section == {
        "enabled": True,
        "output_path": "tensorboard",
        "job_name": "llama3_8b",
    }
    assert 'TENSORBOARD="${TENSORBOARD:-$RUN_DIR/tensorboard}"' in board["deepspeed/launch.sh"]
    sent = json.loads(files("deepspeed", "wandb")["deepspeed/ds_config.json"])
    assert sent["wandb"] == {"enabled": True, "project": "llama3_8b"} and "tensorboard" not in sent


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("megatron", Megatron(wandb="team", tensorboard="/tb")),
        ("torchtitan", TorchTitan(wandb="team", tensorboard="/tb")),
        ("deepspeed", DeepSpeed(wandb="team", tensorboard="/tb")),
    ],
)
@pytest.mark.parametrize("tracker", ["tensorboard", "wandb"])
def test_a_targets_own_settings_go_before(target: str, options: Any, tracker: Tracker) -> None:
    assert files(target, tracker, options) == files(target, None, options) | {
        path: text
        for path, text in files(target, tracker, options).items()
        if path in ("deepspeed/model.json", f"{target}/run.json")
    }


@pytest.mark.parametrize("target", ["megatron", "torchtitan", "deepspeed"])
@pytest.mark.parametrize("tracker", ["tensorboard", "wandb"])
def test_it_is_read_back(target: str, tracker: Tracker) -> None:
    config = read_back(files(target, tracker))
    reader = BACKENDS[target].reader
    options = reader.options(config)
    said = reader.train(config).get("tracker"), options.get("wandb")
    assert "tensorboard" not in options
    # Megatron-LM's project is an option of its own, which is read as such.
    assert said in ((tracker, None), (None, "llama3_8b"))
    assert [each.name for each in unexpressed(config)] == []
