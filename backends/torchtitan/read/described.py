"""A torchtitan configuration with its registered models -> values of the `model` and `train` blocks."""

from collections.abc import Mapping
from typing import Any

from ....reading.facts import LaunchConfig, text_of
from ...described import counts, known, rates
from .sources import registered

Values = dict[str, Any]

_SIZES = {
    "ffn": "hidden_dim",
    "vocab": "vocab_size",
    "norm_eps": "norm_eps",
    "rope_theta": "rope_theta",
    "head_dim": "head_dim",
    "expert_ffn": "moe_inter_dim",
}
_COUNTS = {
    "steps": ("toml", "training.steps"),
    "warmup": ("toml", "lr_scheduler.warmup_steps"),
    "checkpoint_interval": ("toml", "checkpoint.interval"),
    "seed": ("toml", "debug.seed"),
}
_RATES = {
    "learning_rate": ("toml", "optimizer.lr"),
    "weight_decay": ("toml", "optimizer.weight_decay"),
    "beta1": ("toml", "optimizer.beta1"),
    "beta2": ("toml", "optimizer.beta2"),
    "clip_grad": ("toml", "training.max_norm"),
}
#: Release by the kind of its configuration.
_RELEASES = {"torchtitan-toml": "0.2.2", "torchtitan-python": "0.3"}


def model(config: LaunchConfig) -> Values:
    """The registered sizes; llama3's feed-forward width follows from three of them (model.py:332)."""
    flavor = text_of(config.setting("toml", "model.flavor"))
    for path, text in config.texts.items():
        if not path.endswith(".py") or flavor is None:
            continue
        try:
            found = registered(path, text).get(flavor)
        except (SyntaxError, ValueError):
            continue
        if found is not None:
            return _registered_values(found.arguments)
    return {}


def _registered_values(arguments: Mapping[str, Any]) -> Values:
    found = {
        name: arguments[argument]
        for name, argument in _SIZES.items()
        if isinstance(arguments.get(argument), int | float)
    }
    multiplier, multiple = arguments.get("ffn_dim_multiplier"), arguments.get("multiple_of")
    width = arguments.get("dim")
    if "ffn" not in found and isinstance(multiple, int) and isinstance(width, int):
        size = int(2 * 4 * width / 3)
        size = int(multiplier * size) if isinstance(multiplier, int | float) else size
        found["ffn"] = -(-size // multiple) * multiple
    experts = arguments.get("moe_args")
    if arguments.get("moe_enabled") and isinstance(experts, dict):
        found |= known(
            experts=experts.get("num_experts"),
            topk=experts.get("top_k"),
            shared_experts=experts.get("num_shared_experts") or None,
        )
    return found | known(tied=arguments.get("enable_weight_tying") or None)


def train(config: LaunchConfig) -> Values:
    return counts(config, _COUNTS) | rates(config, _RATES)


def options(config: LaunchConfig) -> Values:
    return known(version=_RELEASES.get(config.kind))
