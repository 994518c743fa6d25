"""A torchtitan configuration with its registered models -> values of the `model` and `train` blocks."""

from typing import Any

from ....reading.facts import LaunchConfig, number_of, text_of
from ...described import counts
from ..option_rows import ROWS
from . import python_sources
from .models import model_values
from .python_sources import FLAVOR
from .sources import registered
from .training import checkpoints, kernels, schedule

Values = dict[str, Any]

#: Where 0.2.0 and earlier releases have the seed.
_OLDER_SEED = "training.seed"


def model(config: LaunchConfig) -> Values:
    """Settings of the model that the files register, or that a Python configuration builds."""
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
    found |= ROWS.values(config, "train", scope=scope)
    if text_of(config.setting(scope, "training.max_norm", "training.max_norm.0")) == "inf":
        found["clip_grad"] = 0.0
    found |= schedule(config, scope, found)
    return found | kernels(config, scope) | checkpoints(config, scope)


def _python(config: LaunchConfig) -> bool:
    return config.kind.program == "torchtitan" and config.kind.variant == "python"
