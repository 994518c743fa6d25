"""Keys of a DeepSpeed config and options of train.py that no job says, for `parc import`."""

from collections.abc import Iterator

from ....reading.facts import LaunchConfig, Setting
from ..option_rows import ROWS


def unexpressed(config: LaunchConfig) -> Iterator[Setting]:
    """Keys and options that no job says, in their order."""
    for scope in ("argument", "json"):
        for setting in config.all(scope):
            if not {setting.name, setting.name.replace("_", "-")} & ROWS.expressed:
                yield setting
