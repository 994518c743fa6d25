"""Emitted train.py, Hugging Face checkpoint -> how far the model that it builds is from the checkpoint's own.

A case holds the `folder` of the emitted files, that of the `reference`, and a `mutation`: a text of train.py
and what stands in its place. The program loads the checkpoint with its own mapping, in fp32; the answer is
the loss, and the largest difference of each gradient as a share of the largest that is right.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

os.environ.update(
    DS_ACCELERATOR="cpu", LOCAL_RANK="0", RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1"
)

import deepspeed
import forked
import torch
from safetensors.torch import load_file, save_file

# Shared memory between ranks of a node, which would be compiled first.
vars(sys.modules["deepspeed.comm.torch"])["build_shm_op"] = lambda: None


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    folder, reference = Path(case["folder"]), Path(case["reference"])
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    deepspeed.init_distributed(dist_backend="gloo", dist_init_required=False)
    program = _loaded(folder / "train.py", case.get("mutation"))
    config = SimpleNamespace(**json.loads((folder / "model.json").read_text()))
    if hasattr(config, "stage_layers"):
        config.stage_layers = [config.layers]  # one stage: all of them on this rank
    tokens = torch.load(reference / "tokens.pt")
    model = (program.Pipeline if hasattr(program, "Pipeline") else program.Decoder)(config).float()
    weights, gradients = _dense(reference)
    save_file(weights, folder / "model.safetensors")
    program.load_weights(model, str(folder))
    loss = _loss(program, model, tokens)
    loss.backward()
    found = {_stored(program, model, name): each.grad for name, each in model.named_parameters()}
    answer |= {
        "loss": loss.item(),
        "missing": sorted(gradients.keys() ^ found.keys()),
        "differences": {
            name: _difference(found[name], wanted) for name, wanted in gradients.items()
        },
        "stage": "computed",
    }


def _dense(reference: Path) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Weights and gradients of the reference, whose only expert becomes a feed-forward block."""
    weights = load_file(reference / "checkpoint" / "model.safetensors")
    gradients = torch.load(reference / "gradients.pt")
    return _of_one_expert(weights), _of_one_expert(gradients)


def _of_one_expert(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Columns of gate and up take turns (transformers, modeling_gpt_oss.py, GptOssExperts)."""
    found = {}
    for name, tensor in tensors.items():
        block, _, part = name.partition("mlp.experts.")
        kind = "bias" if name.endswith("_bias") else "weight"
        if "mlp.router." in name:
            continue
        if not part:
            found[name] = tensor
        elif part.startswith("gate_up_proj"):
            found[f"{block}mlp.gate_proj.{kind}"] = tensor[0, ..., ::2].T.contiguous()
            found[f"{block}mlp.up_proj.{kind}"] = tensor[0, ..., 1::2].T.contiguous()
        else:
            found[f"{block}mlp.down_proj.{kind}"] = tensor[0].T.contiguous()
    return found


def _loaded(path: Path, mutation: list[str] | None) -> ModuleType:
    if mutation is not None:
        text, (old, new) = path.read_text(), mutation
        assert old in text, f"train.py has no {old!r}"
        path = path.with_name("mutated.py")
        path.write_text(text.replace(old, new))
    spec = importlib.util.spec_from_file_location("train", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _loss(program: Any, model: Any, tokens: torch.Tensor) -> torch.Tensor:
    inputs, labels = tokens[:, :-1], tokens[:, 1:]
    if not hasattr(program, "Pipeline"):
        return model(inputs, labels)
    for layer in model.forward_funcs:
        inputs = layer(inputs)
    return model.loss_fn(inputs, labels)


def _stored(program: Any, model: Any, name: str) -> str:
    """The checkpoint's name of a parameter; the Llama of transformers has it already."""
    if not hasattr(program, "checkpoint_name"):
        return name
    whole = model.decoder_name(name) if hasattr(program, "Pipeline") else name
    return str(program.checkpoint_name(whole))


def _difference(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((found - wanted).abs().max() / wanted.abs().max())


if __name__ == "__main__":
    forked.main(check)
