"""torchtitan's model with a checkpoint of transformers -> its loss, and distances of gradients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from hugging_face_names import checkpoint, named

Answer = dict[str, Any]
#: Gradients smaller than this share of the largest one are compared with that share.
LEAST = 1e-3


def compared(
    model: Any, adapter: Any, folder: Path, logits: Callable[[Any], Any], answer: Answer
) -> None:
    """Fills `loss`, `deviation` (the largest, relative to each gradient's largest entry) and `missing`."""
    model.load_state_dict(adapter.from_hf(checkpoint(folder / "checkpoint")))
    tokens = torch.load(folder / "tokens.pt")
    found = logits(tokens[:, :-1]).float()
    loss = torch.nn.functional.cross_entropy(found.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    gradients = adapter.to_hf(_gradients(model))
    expected = named(torch.load(folder / "gradients.pt"))
    floor = LEAST * max(gradient.abs().max().item() for gradient in expected.values())
    answer["loss"] = loss.item()
    answer["missing"] = sorted(set(expected) - set(gradients))
    answer["deviation"] = {
        name: _deviation(gradients[name], gradient, floor)
        for name, gradient in expected.items()
        if name in gradients
    }


def _gradients(model: Any) -> dict[str, Any]:
    """By the names of a state, for which torchtitan takes apart what it keeps fused."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.zeros_like(weight) if weight.grad is None else weight.grad)
    found: dict[str, Any] = model.state_dict()
    return found


def _deviation(found: Any, expected: Any, floor: float) -> float:
    largest = max(expected.abs().max().item(), floor)
    return float((found - expected).abs().max().item() / largest)


def spread(model: Any) -> dict[str, list[float]]:
    """Number of entries, mean and standard deviation of every parameter as it begins."""
    return {
        name: [weight.numel(), weight.mean().item(), weight.std(correction=0).item()]
        for name, weight in model.named_parameters()
    }
