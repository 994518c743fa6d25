"""A folder of checkpoints -> the side of a change of layout that saved the newest of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import NotReadable, first_bytes, reason_of

from . import codes

if TYPE_CHECKING:
    from parc.backends.checkpoint_files import SavedStep, Step

    from .resuming import Side

#: Where a run's folder has its checkpoints: `$RUN_DIR/checkpoints`, and torchtitan's own in its dump folder.
_BELOW = ("", "checkpoints", "checkpoint", "outputs/checkpoint")
#: How far above a step's folder a run.json is looked for.
_ABOVE = 3
#: Bytes of the largest run.json that is read.
_LARGEST = 2**20


def is_checkpoint(path: str) -> bool:
    """Whether a folder is one of checkpoints, of a run that has some, or of one step."""
    if not os.path.isdir(path):
        return False
    try:
        return _found(path) is not None
    except (OSError, NotReadable):
        return True


def checkpoint_side(path: str) -> Side:
    """The run that saved the newest checkpoint of a folder, or the one that is named.

    Raises JobError where there is none, and where the folder cannot be read.
    """
    try:
        found = _found(path)
    except (OSError, NotReadable) as error:
        raise _no_checkpoint(f"`{path}` cannot be read: {reason_of(error)}") from None
    if found is None:
        raise _no_checkpoint(
            f"`{path}` holds no checkpoint of Megatron-LM, DeepSpeed or torchtitan that is whole"
        )
    return _side(*found)


def joined(old: Side, path: str) -> Side:
    """A side with what its checkpoint tells, which goes before what its files say; the checkpoint's own where
    another framework saved it."""
    saved = checkpoint_side(path)
    one, other = old.saved, saved.saved
    if one.framework != other.framework:
        note = f"the checkpoint counts: {other.framework} saved it, and {one.name} is of {one.framework}"
        return replace(saved, saved=replace(other, notes=(note,)))
    written, said = {**other.layout, **other.form}, {**one.layout, **one.form}
    differing = [name for name in written if name in said and said[name] != written[name]]
    told = [f"{name} {written[name]} ({said[name]})" for name in differing]
    if saved.decided and old.decided and saved.decided != old.decided:
        told.append("another training")
    note = f"the checkpoint counts where {one.name} (in brackets) says otherwise: {', '.join(told)}"
    merged = replace(
        one,
        name=f"{one.name} and {other.name}",
        release=other.release or one.release,
        layout={**one.layout, **other.layout},
        form={**one.form, **other.form},
        folder=other.folder or one.folder,
        step=other.step,
        ranks=other.ranks,
        notes=(note,) if told else (),
    )
    return replace(
        old, saved=merged, sizes={**old.sizes, **saved.sizes}, decided=saved.decided or old.decided
    )


def _found(path: str) -> tuple[Step, SavedStep] | None:
    """The step that a folder names, else the newest one below it."""
    from parc.backends import BACKENDS
    from parc.backends.checkpoint_files import Step

    given = Step(os.path.normpath(path))
    kinds = [backend.checkpoints for backend in BACKENDS.values()]
    for kind in kinds:
        if written := kind.written(given):
            return given, written
    for place in (Step(os.path.join(path, below)) for below in _BELOW):
        for kind in kinds if os.path.isdir(place.path) else ():
            if name := kind.newest(place):
                step = Step(os.path.join(place.path, name))
                if os.path.isdir(step.path) and (written := kind.written(step)):
                    return step, written
    return None


def _side(step: Step, written: SavedStep) -> Side:
    from parc.backends.resume import Saved

    from .resuming import Side

    run = _run(step)
    folder = f"{run.pop('run', '')}-{run.pop('digest', '')}" if run else ""
    saved = Saved(
        step.path,
        written.framework,
        written.release,
        written.layout,
        written.form,
        folder=folder,
        step=written.step,
        ranks=written.ranks,
    )
    return Side(saved, written.sizes, run)


def _run(step: Step) -> dict[str, Any]:
    """The run.json of the folder of checkpoints, or of the run that it is in."""
    from parc.backends.run_folder import FILE, run_in

    for place in _parents(step.path):
        try:
            text = first_bytes(os.path.join(place, FILE), _LARGEST).decode(errors="replace")
        except (OSError, NotReadable):
            continue
        if found := run_in({f"run/{FILE}": text}, "run"):
            return found
    return {}


def _parents(path: str) -> Iterator[str]:
    for _ in range(_ABOVE):
        path = os.path.dirname(path)
        yield path


def _no_checkpoint(message: str) -> JobError:
    help = "name the folder that --save, `save` or `checkpoint.folder` names, a run's folder, or a step's"
    return JobError([Diagnostic(codes.NO_RUN, message, help=help)])
