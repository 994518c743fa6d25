"""torchtitan's settings -> its checkpoints.

torchtitan 0.2.2 components/checkpoint.py: `load` (558) takes the newest step of the folder, `save` (814)
writes at intervals and after the last step; config/job_config.py has the defaults. None of its modules
handles a signal, and one of the job's own may.
"""

from __future__ import annotations

from ....reading.facts import LaunchConfig, Setting, number_of, text_of
from ...kept import Kept, undecided

_SWITCHES = ("checkpoint.enable", "checkpoint.enable_checkpoint")
#: Keys that load a module of the job's own.
_OWN_MODULES = (
    "experimental.custom_import",
    "experimental.custom_args_module",
    "job.custom_config_module",
)
#: Unless it is given.
_INTERVAL = 500
_PROGRAM = "torchtitan.train"


def kept(config: LaunchConfig) -> Kept | None:
    """None where no TOML was read: the defaults of a configuration in Python are those of its functions."""
    if config.framework != "torchtitan" or not config.all("toml"):
        return None
    switch = _setting(config, *_SWITCHES)
    interval = _setting(config, "checkpoint.interval")
    dump, folder = _setting(config, "job.dump_folder"), _setting(config, "checkpoint.folder")
    saves: bool | None = _on(switch)
    if undecided(switch) or any(config.may_be_given(f"--{name}") for name in _SWITCHES):
        saves = None
    return Kept(
        saves=saves,
        resumes=saves,
        interval=None if undecided(interval) else number_of(interval) or _INTERVAL,
        steps=number_of(_setting(config, "training.steps")),
        folder=folder or dump,
        parts=tuple(each for each in (dump, folder) if each is not None),
        interval_at=interval,
        handles=frozenset() if _plain(config) else None,
        at=switch,
    )


def _setting(config: LaunchConfig, *names: str) -> Setting | None:
    """A key as the command overrides it, else as the file has it."""
    given = config.option(*(f"--{name}".replace("_", "-") for name in names))
    return given or config.setting("toml", *names)


def _on(switch: Setting | None) -> bool:
    """Off unless it is given; a switch of the command has no value."""
    return switch is not None and (text_of(switch) or "True").lower() == "true"


def _plain(config: LaunchConfig) -> bool:
    """Whether torchtitan's own program runs, without a module of the job's."""
    return config.program == _PROGRAM and _setting(config, *_OWN_MODULES) is None
