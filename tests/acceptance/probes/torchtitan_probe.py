"""Emitted train.toml and parc_model.py -> torchtitan 0.2's real Trainer, made at full size for one rank.

A case holds `program` (torchtitan.train with its arguments), `search` (the PYTHONPATH that the script set),
`world`, `rank`, the GPU's `capability` and `assets`, a tokenizer with text.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import forked
import torch
import torchtitan_stand_ins as stand_ins

stand_ins.before_import()

from torch.distributed.tensor import DTensor  # noqa: E402
from torchtitan.config import ConfigManager  # noqa: E402
from torchtitan.train import Trainer  # noqa: E402

stand_ins.stay_on_meta()
stand_ins.answer_capability()


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    sys.path[:0] = case["search"].split(":")
    stand_ins.CAPABILITY[:] = case["capability"]
    answer["stage"] = "configuration"
    config = ConfigManager().parse_args(case["program"][2:])
    with tempfile.TemporaryDirectory() as folder:
        _offline(config, Path(case["assets"]), Path(folder))
        stand_ins.join(case["world"], case["rank"])
        answer["stage"] = "trainer"
        trainer = Trainer(config)
    answer["accumulation"] = trainer.gradient_accumulation_steps
    answer["layers"] = [len(part.layers) for part in trainer.model_parts]
    answer |= _parameters(trainer.model_parts)
    if trainer.parallel_dims.pp_enabled:
        answer["microbatches"] = trainer.pp_schedule._n_microbatches
        answer["schedule"] = type(trainer.pp_schedule).__name__
    answer["stage"] = "accepted"


def _offline(config: Any, assets: Path, folder: Path) -> None:
    """A test's data, tokenizer and output; a group that plays all ranks; an optimizer that a CPU has."""
    config.model.hf_assets_path = str(assets / "tokenizer")
    config.training.dataset, config.training.dataset_path = "c4_test", str(assets / "data")
    config.job.dump_folder = str(folder)
    config.comm.mode = "fake_backend"
    config.optimizer.implementation = "for-loop"


def _parameters(parts: list[torch.nn.Module]) -> dict[str, Any]:
    """This rank's parameters: `share` by the placements, `local` as it was cut, each in its bytes."""
    share, local = 0.0, 0
    for parameter in (each for part in parts for each in part.parameters()):
        size, here = parameter.element_size(), parameter
        ways = 1
        if isinstance(parameter, DTensor):
            here = parameter.to_local()
            for placement, count in zip(
                parameter.placements, parameter.device_mesh.shape, strict=True
            ):
                ways *= 1 if placement.is_replicate() else count
        share += parameter.numel() / ways * size
        local += here.numel() * size
    return {"share_bytes": share, "local_bytes": local}


if __name__ == "__main__":
    forked.main(check)
