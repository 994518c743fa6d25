"""Emitted parc_job.py -> torchtitan 0.3's real Trainer, made at full size for one rank.

A case holds `program` (torchtitan.train with its arguments), `search` (the PYTHONPATH that the script set),
`world`, `rank`, the GPU's `capability` and `assets`, a tokenizer with text.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import forked
import torchtitan_stand_ins as stand_ins

stand_ins.before_import("torchtitan.models.common.token_dispatcher")

# After the stand-ins that they need; models, so that their classes are there to be kept on meta.
import torchtitan_newer_torch as newer_torch  # noqa: E402
from torchtitan.config import ConfigManager  # noqa: E402
from torchtitan.models import llama3, qwen3  # noqa: E402, F401
from torchtitan.protocols.module import Module  # noqa: E402
from torchtitan.trainer import Trainer  # noqa: E402

# init_states itself ties embeddings again after FSDP2 has wrapped them.
stand_ins.stay_on_meta(Module, "_init_self_parameters", "_init_self_buffers")
stand_ins.answer_capability()
newer_torch.shards_of_annotated_parameters()


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    sys.path[:0] = case["search"].split(":")
    stand_ins.CAPABILITY[:] = case["capability"]
    answer["stage"] = "configuration"
    with tempfile.TemporaryDirectory() as folder:
        config = _offline(case["program"][2:], Path(case["assets"]), folder)
        stand_ins.play(case["world"], case["rank"])
        answer["stage"] = "trainer"
        trainer = Trainer(config)
    answer |= stand_ins.measured(trainer)
    answer["stage"] = "accepted"


def _offline(arguments: list[str], assets: Path, folder: str) -> Any:
    """The job's own configuration with a test's paths, a group that plays all ranks, and Adam for CPUs."""
    os.environ["HF_ASSETS_PATH"] = str(assets / "tokenizer")
    stand_ins.load_texts(assets / "data")
    os.environ["DUMP_FOLDER"] = folder
    # What fails in the module is its own error; ConfigManager would say that there is no such module.
    importlib.import_module(arguments[arguments.index("--module") + 1])
    config = ConfigManager().parse_args(arguments)
    config.comm.mode = "fake_backend"
    config.optimizer.implementation = "for-loop"
    return config


if __name__ == "__main__":
    forked.main(check)
