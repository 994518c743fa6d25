"""Stages of training -> what each says over the `train` block."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .. import codes
from ..diagnostics import Span
from ..job import Train
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

    What `train` says of the first weights is of the first stage, its `carry` of the later ones.
    """
    name = stage.name.name if stage.name else ""
    own = own_settings(stage, checker.scope, checker.report) | checker.changes("stage", name)
    later = stage is not checker.blocks["stage"][0]
    left = {
        key: located
        for key, located in train.settings.items()
        if not (_LENGTHS.get(key) in own and key not in own)
        and key != ("weights" if later else "carry")
    }
    return replace(train, title=title_of(stage), name=name, head=stage.head, settings=left | own)


#: Settings that frameworks take from a checkpoint, or by which its position in the data counts.
KEPT = (
    "seq_len", "global_batch", "optimizer", "learning_rate", "weight_decay", "beta1", "beta2", "seed",
)  # fmt: skip


def carried(train: Train | None, checker: Checker) -> Train | None:
    """The training of a stage that goes on at the step of the one before, whose steps are those of both.

    Reports where there is none before, and settings that differ from what the checkpoint keeps.
    """
    if train is None or train.carry == "weights":
        return train
    before, length = checker.before, train.tokens is None and train.steps is None
    if before is None or train.weights is not None:
        why = "names weights of its own" if before else "has no stage before it"
        title = title_of(checker.stage) if checker.stage else "`train`"
        help = "leave `carry` out" if before is None else "leave one of them out"
        message = f"`carry = all` goes on from a stage before, and {title} {why}"
        checker.report.add(codes.CARRY, message, _span(checker, "carry"), help)
        return train
    for key in KEPT:
        if (own := getattr(train, key)) != (kept := getattr(before, key)):
            message = f"`carry = all` goes on with {key} {kept}, and the stage says {own}"
            help = f"leave `{key}` as the stage before has it, or say `carry = weights`"
            checker.report.add(codes.CARRY, message, _span(checker, key), help)
    if train.ramp_from is not None:
        message = "`carry = all` counts steps of one batch, and the batch grows from `ramp_from`"
        checker.report.add(
            codes.CARRY, message, _span(checker, "ramp_from"), "say `carry = weights`"
        )
    elif not length:
        return train.model_copy(
            update={"steps": before.total_steps + train.total_steps, "tokens": None}
        )
    return train


def _span(checker: Checker, key: str) -> Span | None:
    return checker.spans.get(("train", key)) or checker.spans.get(("train",))


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
