"""The jobs of a run -> for each of them the earlier ones that go on from its checkpoints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from ...reading.facts import LaunchConfig
from .lasting import kept_by, moves

#: Most jobs of one folder that are compared with another.
_MOST = 50


class Neighbours:
    """Called with a job, it gives those before it that write to its folder and go on from it, each started by
    another script."""

    def __init__(self, configs: Sequence[LaunchConfig]) -> None:
        self._configs = configs

    def __call__(self, config: LaunchConfig) -> tuple[LaunchConfig, ...]:
        folder = _folder(config)
        found: list[LaunchConfig] = []
        for each in self._by_folder.get(folder, ()) if folder else ():
            if each is config or len(found) == _MOST:
                break
            if _script(each) != _script(config):
                found.append(each)
        return tuple(found)

    @cached_property
    def _by_folder(self) -> dict[str, list[LaunchConfig]]:
        by_folder: dict[str, list[LaunchConfig]] = {}
        for config in self._configs:
            folder = _folder(config)
            if folder is not None:
                by_folder.setdefault(folder, []).append(config)
        return by_folder


def _script(config: LaunchConfig) -> str:
    return next(iter(config.texts), "")


def _folder(config: LaunchConfig) -> str | None:
    """Where a launched job both writes its checkpoints and finds them; a relative folder of scripts that lie
    together, where none of them changes the folder in which it runs. A container may have any folder there.
    """
    alone = config.setting("launcher", "--container-image") is None
    kept = kept_by(config) if alone and config.command is not None else None
    if kept is None or not (kept.saves and kept.resumes) or kept.path is None:
        return None
    if kept.path.startswith("/"):
        return kept.path
    return None if moves(config) else os.path.join(os.path.dirname(_script(config)), kept.path)
