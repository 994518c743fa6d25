"""Emitted train.toml and parc_model.py -> torchtitan 0.2's real Trainer, made at full size for one rank.

A case holds `program` (torchtitan.train with its arguments), `search` (the PYTHONPATH that the script set),
`world`, `rank`, the GPU's `capability` and `assets`, a tokenizer with text.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import forked
import torch
import torchtitan_stand_ins as stand_ins
from torch.testing._internal.distributed.fake_pg import FakeStore

stand_ins.before_import(
    "torchtitan.components.quantization",
    "torchtitan.models.moe",
    "torchao.prototype.moe_training.conversion_utils",
)

# After the stand-ins that they need; models, so that their classes are there to be kept on meta.
from torchtitan.config import ConfigManager  # noqa: E402
from torchtitan.models import deepseek_v3, llama3, qwen3  # noqa: E402, F401
from torchtitan.protocols.model import ModelProtocol  # noqa: E402
from torchtitan.train import Trainer  # noqa: E402

with suppress(ModuleNotFoundError):  # which 0.2.1 lacks
    importlib.import_module("torchtitan.models.gpt_oss")
stand_ins.stay_on_meta(ModelProtocol, "init_weights")
stand_ins.answer_capability()


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    sys.path[:0] = case["search"].split(":")
    stand_ins.CAPABILITY[:] = case["capability"]
    answer["stage"] = "configuration"
    config = ConfigManager().parse_args(case["program"][2:])
    with tempfile.TemporaryDirectory() as folder:
        _offline(config, Path(case["assets"]), folder)
        _play(case["world"], case["rank"])
        answer["stage"] = "trainer"
        trainer = Trainer(config)
    answer |= stand_ins.measured(trainer)
    answer["stage"] = "accepted"


def _play(world: int, rank: int) -> None:
    """torchtitan 0.2's own fake mode plays rank 0 alone, and 0.2.0 has none."""
    stand_ins.play(world, rank)
    begin = torch.distributed.init_process_group

    def faked(*_: Any, **__: Any) -> None:
        begin("fake", store=FakeStore(), rank=rank, world_size=world)

    torch.distributed.init_process_group = faked


def _offline(config: Any, assets: Path, folder: str) -> None:
    """A test's data, tokenizer and output; a group that plays all ranks; an optimizer that a CPU has."""
    config.model.hf_assets_path = str(assets / "tokenizer")
    stand_ins.load_texts(assets / "data")
    config.job.dump_folder = folder
    if hasattr(config.comm, "mode"):
        config.comm.mode = "fake_backend"
    config.optimizer.implementation = "for-loop"


if __name__ == "__main__":
    forked.main(check)
