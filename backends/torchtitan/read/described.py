"""A torchtitan configuration with its registered models -> values of the `model` and `train` blocks."""

from typing import Any

from ....reading.facts import LaunchConfig, number_of, text_of
from ...described import counts, rates
from . import python_sources
from .models import model_values
from .python_sources import FLAVOR
from .sources import registered
from .training import checkpoints, kernels, schedule

Values = dict[str, Any]

_COUNTS = {
    "steps": "training.steps",
    "warmup": "lr_scheduler.warmup_steps",
    "checkpoint_interval": "checkpoint.interval",
    "keep_checkpoints": "checkpoint.keep_latest_k",
    "seed": "debug.seed",
}
#: Where 0.2.0 and earlier releases have the seed.
_OLDER_SEED = "training.seed"
#: 0.3.0 has those of the optimizer in groups of parameters, which are not read.
_RATES = {
    "learning_rate": "optimizer.lr",
    "weight_decay": "optimizer.weight_decay",
    "beta1": "optimizer.beta1",
    "beta2": "optimizer.beta2",
    "clip_grad": "training.max_norm",
}


def model(config: LaunchConfig) -> Values:
    """Of the model that the files register, or that a Python configuration builds."""
    flavor = FLAVOR if _python(config) else text_of(config.setting("toml", "model.flavor"))
    seq_len = number_of(config.setting("toml", "training.seq_len"))
    for path, text in config.texts.items():
        if not path.endswith(".py") or flavor is None:
            continue
        try:
            found = {**registered(path, text), **python_sources.models(path, text)}.get(flavor)
        except (SyntaxError, ValueError):
            continue
        if found is not None:
            return model_values(found, seq_len)
    return {}


def train(config: LaunchConfig) -> Values:
    scope = "python" if _python(config) else "toml"
    found = counts(config, {"seed": (scope, _OLDER_SEED)})
    found |= counts(config, {name: (scope, key) for name, key in _COUNTS.items()})
    found |= rates(config, {name: (scope, key) for name, key in _RATES.items()})
    found |= schedule(config, scope, found)
    return found | kernels(config, scope) | checkpoints(config, scope)


def _python(config: LaunchConfig) -> bool:
    return config.kind.program == "torchtitan" and config.kind.variant == "python"
