"""Stages of training -> what each says over the `train` block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import codes
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
    "seq_len", "global_batch", "optimizer", "learning_rate", "min_learning_rate", "weight_decay",
    "beta1", "beta2", "seed",
)  # fmt: skip


def carried(train: Train | None, checker: Checker) -> Train | None:
    """The training of a stage that goes on at the step of the one before, whose steps are those of both.

    Reports where there is none before, and settings that differ from what the checkpoint keeps.
    """
    before = checker.before
    if train is None or train.carry == "weights":
        return train
    if before is None or train.weights is not None:
        why = "names weights of its own" if before else "has no stage before it"
        title = title_of(checker.stage) if checker.stage else "`train`"
        help = "leave one of them out" if before else "leave `carry` out"
        _report(checker, "carry", f"a stage before, and {title} {why}", help)
        return train
    for key in _changed(train, before):
        kept, own = (_plain(getattr(each, key)) for each in (before, train))
        help = f"leave `{key}` as the stage before has it, or say `carry = weights`"
        _report(checker, key, f"{key} {kept}, and the stage says {own}", help)
    if train.ramp_from is not None:
        _report(checker, "ramp_from", "steps of one batch, and the batch grows", "leave it out")
    elif train.tokens is not None or train.steps is not None:
        steps = before.total_steps + train.total_steps
        return train.model_copy(update={"steps": steps, "tokens": None})
    return train


def _changed(train: Train, before: Train) -> Iterator[str]:
    """Settings that differ; the last rate follows from the first where it is not given."""
    for key in KEPT:
        follows = key == "min_learning_rate" and train.learning_rate != before.learning_rate
        if getattr(train, key) != getattr(before, key) and not follows:
            yield key


def _report(checker: Checker, key: str, what: str, help: str) -> None:
    span = checker.spans.get(("train", key)) or checker.spans.get(("train",))
    checker.report.add(codes.CARRY, f"`carry = all` goes on from {what}", span, help)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


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
