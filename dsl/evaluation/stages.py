"""Stages of training -> what each says over the `train` block."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .. import codes
from ..syntax.tree import Block
from .blocks import Gathered, own_settings

if TYPE_CHECKING:
    from .assemble import Checker

#: The two ways to say how long training is: a stage that gives one does not take the other from `train`.
_LENGTHS = {"tokens": "steps", "steps": "tokens"}


def title_of(stage: Block) -> str:
    """How messages call a stage."""
    return f"stage `{stage.name.name}`" if stage.name else "`stage`"


def of_stage(train: Gathered, stage: Block, checker: Checker) -> Gathered:
    """The settings of a stage: those of `train`, over them its own, over them its changes of --set.

    What `train` says of the first weights is of the first stage.
    """
    name = stage.name.name if stage.name else ""
    own = own_settings(stage, checker.scope, checker.report) | checker.changes("stage", name)
    later = stage is not checker.blocks["stage"][0]
    left = {
        key: located
        for key, located in train.settings.items()
        if not (_LENGTHS.get(key) in own and key not in own) and not (later and key == "weights")
    }
    return replace(train, title=title_of(stage), name=name, head=stage.head, settings=left | own)


def check_stages(checker: Checker) -> list[Block]:
    """The stages in their order, those that have a name; reports changes of unknown ones."""
    stages = checker.blocks.get("stage", [])
    names = [stage.name.name for stage in stages if stage.name]
    for path, changes in checker.overrides.settings.items():
        if path[0] == "stage" and path[1] not in names:
            for setting in changes.values():
                message = f"the job has no stage `{path[1]}` to change"
                checker.report.add(codes.BAD_OVERRIDE, message, setting.span)
    return [stage for stage in stages if stage.name]
