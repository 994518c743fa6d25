"""torchtitan's own scheduler -> rates of learning by step.

A case holds the `release`, `lr`, `steps` and the keys of `lr_scheduler`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import forked
import torch
import torchtitan_stand_ins as stand_ins

OLD = ("torchtitan.components.quantization", "torchtitan.models.moe")
NEW = ("torchtitan.models.common.token_dispatcher",)


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    old = case["release"] != "0.3"
    stand_ins.before_import(*(OLD if old else NEW))
    answer["rates"] = rates(case, old)
    answer["stage"] = "answered"


def rates(case: dict[str, Any], old: bool) -> list[float]:
    """Of every step, as the trainer's optimizer has them."""
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizers: Any = [torch.optim.SGD([weight], lr=case["lr"])]
    settings = case["lr_scheduler"]
    if old:
        config = import_module("torchtitan.config").LRScheduler(**settings)
        build = import_module("torchtitan.components.lr_scheduler").build_lr_schedulers
        scheduler = build(optimizers, config, case["steps"])
    else:
        container = import_module("torchtitan.components.optimizer").LRSchedulersContainer
        scheduler = container.Config(**settings).build(
            optimizers=optimizers, training_steps=case["steps"]
        )
    found = []
    for _ in range(case["steps"]):
        found.append(optimizers[0].param_groups[0]["lr"])
        optimizers[0].step()
        scheduler.step()
    return found


if __name__ == "__main__":
    forked.main(check)
