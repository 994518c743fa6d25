"""Emitted parc_job.py -> the model that torchtitan 0.3.0 makes of it, compared with transformers in fp32.

A case is torchtitan_forward_probe's. Stood in for, beside what torchtitan_stand_ins has: FlexAttention, which
has no backward pass on CPUs, and grouped products in bf16, which a loop over the experts computes in fp32.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import forked
import torch
import torchtitan_stand_ins as stand_ins

stand_ins.before_import("torchtitan.models.common.token_dispatcher")
stand_ins.ON_CPU["integer_histograms"](torch)
stand_ins.ON_CPU["dense_attention"](torch)

# After the stand-ins that they need.
from torchtitan.models.common.moe import GroupedExperts  # noqa: E402
from torchtitan_comparison import compared, spread  # noqa: E402


def products(experts: Any, *, A: Any, B_t: Any, offs: Any) -> Any:
    """torch._grouped_mm in a loop: rows of `A` up to each of `offs` times one expert's matrix."""
    begins = [0, *offs.tolist()]
    parts = [
        A[begin:end] @ B_t[i] for i, (begin, end) in enumerate(zip(begins, offs, strict=False))
    ]
    return torch.cat(parts)


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    sys.path.insert(0, case["search"])
    config = importlib.import_module("parc_job").train()
    spec = config.model_spec
    model = made(config)
    if "reference" in case:
        answer["stage"] = "forward"
        folder = Path(case["reference"])
        adapter = spec.state_dict_adapter(spec.model, str(folder / "checkpoint"))
        GroupedExperts._grouped_mm = products
        torch.Tensor.bfloat16 = lambda self: self
        compared(model, adapter, folder, lambda tokens: logits(model, tokens), answer)
    else:
        answer["spread"] = spread(model)
    answer["stage"] = "compared"


def made(config: Any) -> Any:
    """As torchtitan's Trainer makes it (trainer.py:347, 501): on meta, then filled."""
    spec = config.model_spec
    spec.model.update_from_config(config=config)
    torch.manual_seed(1)
    with torch.device("meta"):
        model = spec.model.build()
    model.to_empty(device="cpu")
    with torch.no_grad():
        model.init_weights(buffer_device=torch.device("cpu"))
    return model


def logits(model: Any, tokens: Any) -> Any:
    positions = torch.arange(tokens.shape[1]).expand(tokens.shape)
    return model(tokens, positions, model.get_attention_masks(positions))


if __name__ == "__main__":
    forked.main(check)
