"""Emitted parc_model.py -> the model that torchtitan 0.2 makes of it, compared with transformers in fp32.

A case holds `search` (the folder of the emitted files) and `reference`, the folder that hugging_face_probe
filled; without one the answer holds `spread`, the first weights' statistics. Stood in for, beside what
torchtitan_stand_ins has: grouped products in bf16 (a loop over the experts, torchtitan's own for older GPUs)
and FlexAttention, which has no backward pass on CPUs.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import forked
import torch
import torchtitan_stand_ins as stand_ins

stand_ins.before_import("torchtitan.models.moe")
stand_ins.ON_CPU["integer_histograms"](torch)
stand_ins.ON_CPU["dense_attention"](torch)
stand_ins.ON_CPU["plain_attention"]()

# After the stand-ins that they need.
from torchtitan.config import ConfigManager  # noqa: E402
from torchtitan.protocols.train_spec import get_train_spec  # noqa: E402
from torchtitan_comparison import compared, spread  # noqa: E402


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    model, spec, arguments = made(case)
    if "reference" in case:
        answer["stage"] = "forward"
        folder = Path(case["reference"])
        adapter = spec.state_dict_adapter(arguments, str(folder / "checkpoint"))
        compared(model, adapter, folder, lambda tokens: logits(model, tokens), answer)
    else:
        answer["spread"] = spread(model)
    answer["optimizers"] = spec.build_optimizers_fn.__name__
    answer["stage"] = "compared"


def made(case: dict[str, Any]) -> tuple[Any, Any, Any]:
    """As torchtitan's Trainer makes it (train.py:125): on meta, then filled."""
    sys.path.insert(0, case["search"])
    toml = str(Path(case["search"]) / "train.toml")
    config = ConfigManager().parse_args(["--job.config_file", toml])
    importlib.import_module(config.experimental.custom_import)
    spec = get_train_spec(config.model.name)
    arguments: Any = spec.model_args[config.model.flavor]
    arguments.update_from_config(config)
    if hasattr(arguments, "moe_args"):
        arguments.moe_args.use_grouped_mm = False
    torch.manual_seed(1)
    with torch.device("meta"):
        model: Any = spec.model_cls(arguments)
    model.to_empty(device="cpu")
    with torch.no_grad():
        model.init_weights(buffer_device=torch.device("cpu"))
    return model, spec, arguments


def logits(model: Any, tokens: Any) -> Any:
    arguments = vars(model.model_args)
    if arguments.get("attn_type") == "flex" or arguments.get("use_flex_attn"):
        return model(tokens, attention_masks=model.get_attention_masks(tokens, None))
    return model(tokens)


if __name__ == "__main__":
    forked.main(check)
