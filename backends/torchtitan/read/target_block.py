"""A torchtitan configuration -> the settings of the `target torchtitan` block that would write it."""

from typing import Any

from ....dsl.settings import Data
from ....reading.facts import LaunchConfig, Setting, number_of, text_of
from ...described import known
from ...observation import FOLDER
from ...release_check import written_release
from ...run_folder import below
from ..option_rows import ROWS
from ..options import Options
from .stack import stack

#: Names of data sets that parc_data.py registers: made-up tokens, and a blend that stands there alone.
SYNTHETIC, BLEND = "synthetic", "blend"
#: Key of TOML -> where a configuration in Python has it.
_IN_PYTHON = {
    "model.hf_assets_path": "hf_assets_path",
    "job.dump_folder": "dump_folder",
    "training.dataset": "dataloader.dataset",
    "training.dataset_path": "dataloader.dataset_path",
    "validation.dataset": "validator.dataloader.dataset",
    "validation.dataset_path": "validator.dataloader.dataset_path",
    **{f"validation.{key}": f"validator.{key}" for key in ("enable", "freq", "steps")},
    **{
        f"profiling.{key}": f"profiler.{key}"
        for key in ("enable_profiling", "profile_freq", "profiler_active")
    },
}
#: Paths that a configuration in Python takes from variables.
_PATHS = {"hf_assets_path": "model.hf_assets_path", "dump_folder": "job.dump_folder"}
#: Loader of made-up tokens that the emitted configuration in Python has.
_MADE_UP = "MadeUpLoader"
#: Release by the language of its configuration.
_RELEASES = {"toml": "0.2.2", "python": "0.3"}


def options(config: LaunchConfig) -> dict[str, Any]:
    """Settings of the target block that differ from its defaults."""
    implied = _RELEASES.get(config.kind.variant)
    version = written_release(config, "torchtitan") or implied
    scope = "python" if config.kind.variant == "python" else "toml"
    found = known(version=version, data=_data(config))
    values = ROWS.values(config, "target", scope=scope)
    values |= known(**{name: _path(config, name, key) for name, key in _PATHS.items()})
    for name, value in values.items():
        found[name] = below(value, config) if isinstance(value, str) else value
    found |= _board(config)
    found |= _project(config) | _evaluation(config) | _profile(config)
    found |= {"save": _on(config, "checkpoint.enable")}
    found |= stack(config)
    defaults = Options.model_fields
    return {name: value for name, value in found.items() if value != defaults[name].default}


def _setting(config: LaunchConfig, key: str) -> Setting | None:
    """A key of TOML, or what stands for it in Python: a value, or the default of a variable."""
    name = _IN_PYTHON.get(key, key)
    return config.setting("toml", key) or config.setting("python", name, f"{name}.1")


def _path(config: LaunchConfig, name: str, key: str) -> str | None:
    """A variable of the launch script goes before what is written in Python."""
    given = config.setting("environment", name.upper())
    return text_of(_setting(config, key) if given is None or config.all("toml") else given)


def _on(config: LaunchConfig, key: str) -> bool:
    return text_of(_setting(config, key)) == str(True)


def _project(config: LaunchConfig) -> dict[str, Any]:
    """The project of Weights & Biases, which a variable names."""
    project = text_of(config.setting("environment", "WANDB_PROJECT"))
    return known(wandb=project if _on(config, "metrics.enable_wandb") else None)


def _evaluation(config: LaunchConfig) -> dict[str, Any]:
    """Data of evaluation, how often it happens, and how long one is."""
    data = _data(config, "validation") if _on(config, "validation.enable") else None
    if data is None:
        return {}
    return known(
        validation=data,
        eval_interval=number_of(_setting(config, "validation.freq")),
        eval_iters=number_of(_setting(config, "validation.steps")),
    )


def _profile(config: LaunchConfig) -> dict[str, Any]:
    """The recorded steps end with the last one of `profile_freq`, 10 unless given; one is recorded unless
    given (config/job_config.py, Profiling)."""
    if not _on(config, "profiling.enable_profiling"):
        return {}
    last = number_of(_setting(config, "profiling.profile_freq")) or 10
    count = number_of(_setting(config, "profiling.profiler_active")) or 1
    return {"profile_start": last - count + 1, "profile_stop": last} if count <= last else {}


def _board(config: LaunchConfig) -> dict[str, Any]:
    """The folder of TensorBoard where it is not the one of `train.tracker`."""
    folder = text_of(_setting(config, "metrics.save_tb_folder"))
    return known(tensorboard=None if folder == FOLDER else folder)


def _data(config: LaunchConfig, section: str = "training") -> Data | None:
    """A data set that torchtitan knows by name, or the path of one."""
    name, path = (
        text_of(_setting(config, f"{section}.{key}")) for key in ("dataset", "dataset_path")
    )
    loader = "dataloader.()" if section == "training" else "validator.dataloader.()"
    if name == SYNTHETIC or text_of(config.setting("python", loader)) == _MADE_UP:
        return Data()
    if name is None or name in (str(None), BLEND):
        return None
    return Data(parts=((path or name, 1.0),))
