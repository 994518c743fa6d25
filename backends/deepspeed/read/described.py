"""A DeepSpeed config and parc's own train.py and model.json -> values of the `model` and `train` blocks."""

import json
from typing import Any

from ....dsl.job import Model
from ....reading.facts import LaunchConfig
from ...described import counts, rates

_WARMUP = {"warmup": ("json", "scheduler.params.warmup_num_steps")}
_STEPS = {"steps": ("argument", "--steps")}
_RATES = {
    "learning_rate": ("json", "optimizer.params.lr"),
    "weight_decay": ("json", "optimizer.params.weight_decay"),
    "clip_grad": ("json", "gradient_clipping"),
}


def model(config: LaunchConfig) -> dict[str, Any]:
    """model.json, as parc writes it for its own train.py."""
    for path, text in config.texts.items():
        if not path.endswith(".json"):
            continue
        try:
            values = json.loads(text)
        except ValueError:
            continue
        if isinstance(values, dict) and {"layers", "hidden", "heads"} <= values.keys():
            settings = Model.model_fields.keys() - {"name"}
            return {name: value for name, value in values.items() if name in settings}
    return {}


def train(config: LaunchConfig) -> dict[str, Any]:
    return counts(config, _WARMUP) | rates(config, _RATES) | counts(config, _STEPS)
