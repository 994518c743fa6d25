"""Options of parc's own train.py -> the settings of the `target deepspeed` block that would write them."""

from typing import Any

from ....dsl.settings import Data, token_dtype
from ....reading.facts import LaunchConfig, Setting, text_of, texts_of
from ...described import known
from ...observation import BOARD
from ...release_check import written_release
from ...run_folder import below
from ..option_rows import ROWS
from ..options import Options
from .described import model, written
from .stack import stack


def options(config: LaunchConfig) -> dict[str, Any]:
    """Settings of the target block that differ from its defaults."""
    found = {
        name: below(value, config) if isinstance(value, str) else value
        for name, value in ROWS.values(config, "target").items()
    }
    if found.get("tensorboard") == BOARD:
        del found["tensorboard"]
    found |= {} if config.given("--save") else {"save": None}
    if written(config, "training").get("tracker") != "wandb":
        found |= known(wandb=text_of(config.setting("json", "wandb.project")))
    evaluated = _data(config, "--valid-data")
    if evaluated is None and config.given("--eval-interval") and not config.given("--valid-data"):
        evaluated = Data()
    found |= known(data=_data(config, "--data"), valid_data=evaluated)
    vocab = model(config).get("vocab")
    if vocab is not None and found.get("data_dtype") == token_dtype(vocab):
        del found["data_dtype"]
    found |= known(version=written_release(config, "deepspeed")) | stack(config)
    defaults = Options.model_fields
    return {name: value for name, value in found.items() if value != defaults[name].default}


def _data(config: LaunchConfig, option: str) -> Data | None:
    """The sources in the order of the files, each with its weight where that is given."""
    sources = _values(config.all("argument", option))
    weights = _values(config.all("argument", f"{option}-weight")) or ["1"] * len(sources)
    if not sources or len(weights) != len(sources):
        return None
    try:
        return Data(parts=tuple(zip(sources, map(float, weights), strict=True)))
    except ValueError:
        return None


def _values(settings: list[Setting]) -> list[str]:
    return [text for setting in settings for text in texts_of(setting)]
