"""A checkpoint and emitted made-up data -> transformers' loss on the first step's sequences, in fp32.

A case holds the `checkpoint`, the folder of the emitted `parc_data.py` (`data`), `seed`, `sequence` and
`batch`; with `experts`, a dtype, experts alone multiply in that. torchtitan is absent here: the data's module
needs classes of it that make no sequences.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any

import forked
import torch
import transformers


class Part:
    """In place of a class of torchtitan that emitted classes are made from."""

    @dataclass
    class Config:
        pass


PARTS = {
    "torchtitan": "",
    "torchtitan.components": "",
    "torchtitan.components.dataloader": "ParallelAwareDataloader",
    "torchtitan.components.tokenizer": "BaseTokenizer",
}


def multiply_in(dtype: torch.dtype, experts: torch.nn.Module) -> None:
    """Experts whose products take and give values of a dtype, as torchtitan's `_run_experts_grouped_mm`."""
    forward, functional = experts.forward, torch.nn.functional
    product = functional.linear

    def rounded(*values: Any, **named: Any) -> Any:
        functional.linear = lambda left, weight: product(left.to(dtype), weight.to(dtype))
        try:
            return forward(*values, **named)
        finally:
            functional.linear = product

    experts.forward = rounded


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    for name, part in PARTS.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name])[part] = Part
    sys.path.insert(0, case["data"])
    data: Any = importlib.import_module("parc_data")
    sequences = data.MadeUpTokens(case["seed"], case["sequence"], 0, 1)
    first = list(islice(sequences, case["batch"]))
    inputs = torch.stack([entry["input"] for entry, _ in first])
    labels = torch.stack([label for _, label in first])
    model = transformers.AutoModelForCausalLM.from_pretrained(
        case["checkpoint"], dtype=torch.float32, attn_implementation="eager"
    )
    if "experts" in case:
        model.set_experts_implementation("eager")
        found = [part for name, part in model.named_modules() if name.endswith(".mlp.experts")]
        assert found, "no layer has experts"
        for part in found:
            multiply_in(getattr(torch, case["experts"]), part)
    with torch.no_grad():
        logits = model(input_ids=inputs).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    answer |= {"loss": loss.item(), "stage": "computed"}


if __name__ == "__main__":
    forked.main(check)
