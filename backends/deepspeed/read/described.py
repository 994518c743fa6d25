"""A DeepSpeed config and parc's own train.py and model.json -> values of the `model` and `train` blocks."""

from typing import Any

from ....dsl.inputs.documents import json_value
from ....dsl.job import Train
from ....dsl.model import Model
from ....reading.facts import LaunchConfig, text_of, texts_of
from ...described import known, rate_of
from ..option_rows import ROWS
from ..resume import ELASTIC_SWITCH

_OPTIMIZERS = {"SGD": "sgd", "Adam": "adam", "AdamW": "adam"}


def model(config: LaunchConfig) -> dict[str, Any]:
    """model.json, as parc writes it for its own train.py."""
    values = _sizes(config)
    settings = Model.model_fields.keys() - {"name"}
    found = values | _section(values, "architecture")
    return {name: value for name, value in found.items() if name in settings}


def _sizes(config: LaunchConfig) -> dict[str, Any]:
    for path, text in config.texts.items():
        if not path.endswith(".json"):
            continue
        try:
            values = json_value(text)
        except ValueError:
            continue
        if isinstance(values, dict) and {"layers", "hidden", "heads"} <= values.keys():
            return values
    return {}


def written(config: LaunchConfig, section: str) -> dict[str, Any]:
    """A section of model.json, which says what the text of train.py holds."""
    return _section(_sizes(config), section)


def _section(values: dict[str, Any], name: str) -> dict[str, Any]:
    """A section of the settings that train.py's text states beside the sizes."""
    section = values.get(name)
    return section if isinstance(section, dict) else {}


def train(config: LaunchConfig) -> dict[str, Any]:
    found = ROWS.values(config, "train")
    betas = texts_of(config.setting("json", "optimizer.params.betas"))
    if len(betas) == 2:
        found |= {"beta1": float(betas[0]), "beta2": float(betas[1])}
    values = _sizes(config)
    written = _section(values, "training") | known(seed=values.get("seed"))
    found |= {name: value for name, value in written.items() if name in Train.model_fields}
    optimizer = text_of(config.setting("json", "optimizer.type"))
    if optimizer == "SGD":
        found |= known(beta1=rate_of(config.setting("json", "optimizer.params.momentum")))
    weights = text_of(config.option("--weights"))
    found |= {"elastic": True} if config.given(ELASTIC_SWITCH) else {}
    return found | known(weights=weights, optimizer=_OPTIMIZERS.get(optimizer or ""))
