"""Configurations -> how many parameters transformers' models of them have, built on the meta device.

A case holds the `config` of a config.json and the `type` of model whose class reads it. The answer has
`parameters`, each shared one once, without layers of multi-token prediction, and `defaults`: what the class
takes for keys that are left out.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import forked
import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    kind = CONFIG_MAPPING[case["type"]]
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(kind(**case["config"]))
    answer |= {
        "parameters": sum(each.numel() for each in model.parameters()),
        "defaults": defaults(kind),
        "stage": "counted",
    }


def defaults(kind: type[Any]) -> dict[str, Any]:
    """Fields of the class with values, and the base of rope, where it is one number."""
    own = set(kind.__annotations__)
    found = {each.name: each.default for each in dataclasses.fields(kind) if each.name in own}
    theta = kind.default_theta
    found |= {"rope_theta": theta} if isinstance(theta, float) else {}
    return {
        name: value
        for name, value in found.items()
        if value is not None and value is not dataclasses.MISSING
    }


if __name__ == "__main__":
    forked.main(check)
