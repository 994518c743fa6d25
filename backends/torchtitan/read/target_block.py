"""A torchtitan configuration -> the settings of the `target torchtitan` block that would write it."""

from typing import Any

from ....dsl.settings import Data
from ....reading.facts import LaunchConfig, text_of
from ...described import known
from ...observation import FOLDER
from ...release_check import written_release
from ...run_folder import below
from ..option_rows import ROWS
from ..options import Options
from .stack import stack

#: Names of data sets that parc_data.py registers: made-up tokens, and a blend that stands there alone.
SYNTHETIC, BLEND = "synthetic", "blend"
#: Release by the language of its configuration.
_RELEASES = {"toml": "0.2.2", "python": "0.3"}


def options(config: LaunchConfig) -> dict[str, Any]:
    """Settings of the target block that differ from its defaults."""
    implied = _RELEASES.get(config.kind.variant)
    version = written_release(config, "torchtitan") or implied
    found = known(version=version, data=_data(config))
    for name, value in ROWS.values(config, "target").items():
        found[name] = below(value, config) if isinstance(value, str) else value
    found |= _board(config)
    found |= {"save": text_of(config.setting("toml", "checkpoint.enable")) == str(True)}
    found |= stack(config)
    defaults = Options.model_fields
    return {name: value for name, value in found.items() if value != defaults[name].default}


def _board(config: LaunchConfig) -> dict[str, Any]:
    """The folder of TensorBoard where it is not the one of `train.tracker`."""
    folders = (
        text_of(config.setting(scope, "metrics.save_tb_folder")) for scope in ("toml", "python")
    )
    folder = next((each for each in folders if each), None)
    return known(tensorboard=None if folder == FOLDER else folder)


def _data(config: LaunchConfig) -> Data | None:
    """A data set that torchtitan knows by name, or the path of one."""
    name, path = (
        text_of(config.setting("toml", f"training.{key}")) for key in ("dataset", "dataset_path")
    )
    if name == SYNTHETIC:
        return Data()
    return None if name is None or name == BLEND else Data(parts=((path or name, 1.0),))
