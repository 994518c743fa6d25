"""Settings of torchtitan that no job says, for `parc import`."""

from collections.abc import Iterator

from ....reading.facts import LaunchConfig, Setting, text_of
from ..emit.sections import OVERLAP
from ..option_rows import ROWS
from .target_block import BLEND
from .unread_arguments import unread


def unexpressed(config: LaunchConfig) -> Iterator[Setting]:
    """Settings of the configuration, options of the command and arguments of the model that no job says."""
    for scope in ("argument", "toml", "python"):
        for setting in config.all(scope):
            if setting.name == OVERLAP and text_of(setting) in ("False", "false"):
                continue
            blend = setting.name == "training.dataset" and text_of(setting) == BLEND
            if blend or not {setting.name, setting.name.replace("_", "-")} & ROWS.expressed:
                yield setting
    yield from unread(config)
