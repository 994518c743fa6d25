"""Configurations of transformers -> loss and gradients in fp32, with the weights that gave them.

A case holds `class` and `arguments` of the configuration, `batch`, `sequence` and the `folder` to fill; with
`repeats` all sequences are the same and end as they begin.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import forked
import torch
import transformers

SEED = 7
#: Large enough that norms, gates, sinks and clamps matter; gate biases stay near 0.
DEVIATION = 0.2


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    folder = Path(case["folder"])
    folder.mkdir(parents=True)
    torch.manual_seed(SEED)
    config = getattr(transformers, case["class"] + "Config")(**case["arguments"])
    config.use_cache = False
    model = getattr(transformers, case["class"] + "ForCausalLM")(config).float().train()
    with torch.no_grad():
        draw(model)
    tokens = torch.randint(config.vocab_size, (case["batch"], case["sequence"] + 1))
    if case["repeats"]:
        tokens[:] = tokens[0]
        tokens[:, -1] = tokens[:, 0]
    logits = model(input_ids=tokens[:, :-1]).logits.float()
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    gradients = {
        name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None
    }
    model.save_pretrained(folder / "checkpoint")
    torch.save(tokens, folder / "tokens.pt")
    (folder / "tokens.txt").write_text(" ".join(map(str, tokens[0, :-1].tolist())))
    torch.save(gradients, folder / "gradients.pt")
    for weight in model.parameters():
        weight.data = torch.zeros_like(weight) if weight.grad is None else weight.grad
    model.save_pretrained(folder / "gradients")
    answer |= {"loss": loss.item(), "folder": str(folder), "stage": "computed"}


def draw(model: torch.nn.Module) -> None:
    """Weights at random: norms around 1, the choice of experts around 0, all other parameters around 0."""
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if "norm" in name:
            tensor.copy_(1 + 0.2 * torch.randn_like(tensor))
        elif "e_score_correction_bias" in name:
            tensor.copy_(0.1 * torch.randn_like(tensor))
        elif "inv_freq" not in name and tensor.is_floating_point():
            tensor.copy_(DEVIATION * torch.randn_like(tensor))


if __name__ == "__main__":
    forked.main(check)
