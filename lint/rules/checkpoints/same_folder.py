"""Two launches of one repository that write their checkpoints to one folder, and both go on from it.

Why:
Whichever starts second goes on from the other's step, weights and data, or stops because the shapes differ:
Megatron-LM compares the model's sizes with those of the checkpoint. It also stops where tp or pp differ and
neither job resumes what the other one saved: in the format `torch`, and from 0.15 on with a distributed
optimizer without `--dist-ckpt-optim-fully-reshardable`. Other layouts that resume are no finding. It is a
hint where the sizes are the same, since a later stage may be meant to go on from an earlier one. A checkpoint
that torchtitan writes as the seed of others is meant for them.

Bad:
--- base.sh
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --train-iters 100000 --save /shared/run --load /shared/run --save-interval 500
--- wide.sh
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 8192 --num-attention-heads 64 \\
    --train-iters 100000 --save /shared/run --load /shared/run --save-interval 500

Good:
--- wide.sh
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 8192 --num-attention-heads 64 \\
    --train-iters 100000 --save /shared/wide --load /shared/wide --save-interval 500
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....backends.huggingface.option_rows import TRAINER, option
from ....backends.kept import Kept
from ....backends.megatron.option_rows import ROWS
from ....backends.resume import Row
from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.facts import LaunchConfig, Setting, Unknown, text_of
from ...facts.lasting import kept_by
from ...facts.launched_job import LaunchedJob
from ...facts.resumed import refused
from ...finding import Complaint, Related

CODE = "PAR675"
TITLE = "two trainings with one folder for checkpoints"
SEVERITY = "warning"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/checkpointing.py:201; torchtitan 0.2.2, tried: the second "
    "job went on with the first one's weights"
)
SINCE = "2026-12"
TRAINING = True

#: Facts whose values no checkpoint changes.
_SIZES = ("layers", "hidden", "heads", "kv_heads", "experts")
#: Facts and settings that make another training of the same model.
_TRAINING = ("seq_len", "global_batch", "precision")
_RATE = TRAINER.setting("train", "learning_rate").name
_SETTINGS = (
    ("argument", ROWS.setting("train", "learning_rate").name),
    ("argument", "--data-path"),
    ("argument", option(_RATE)),
    ("argument", "--model-name-or-path"),
    ("toml", "optimizer.lr"),
    ("toml", "training.dataset"),
    ("yaml", _RATE),
    ("yaml", "model_name_or_path"),
    ("yaml", "dataset"),
)
#: torchtitan's job that initialises a model on one GPU for those that divide it.
_SEED = "checkpoint.create_seed_checkpoint"


class _Difference(NamedTuple):
    """`row` is the one by which the framework refuses the other job's checkpoint, where that is why."""

    name: str
    here: object
    there: object
    row: Row | None = None


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    kept = kept_by(launch.config)
    if kept is None or kept.folder is None:
        return
    first, *between = launch.earlier(launch.config) or (None,)
    theirs = None if first is None else kept_by(first)
    if first is None or theirs is None or theirs.folder is None:
        return
    if _seeds(launch.config) or _seeds(first):
        return
    found = _other(launch.config, first)
    # What the third script of a folder would be told, the second was.
    if found and not any(_other(each, first) for each in between):
        yield _complaint(launch, kept, first, theirs.folder, found)


def _seeds(config: LaunchConfig) -> bool:
    """Whether a launch writes the checkpoint from which the others are meant to begin."""
    return any(each.name.removeprefix("--") == _SEED for each in config.settings)


def _complaint(
    launch: LaunchedJob, kept: Kept, first: LaunchConfig, other: Setting, found: _Difference
) -> Complaint:
    path, folder = kept.path or "", kept.folder or other
    scripts = f"{next(iter(first.texts))} and {launch.path}"
    message = f"{scripts} both resume from {path}, with {found.name} {found.there} and {found.here}"
    place = LaunchedJob(first).span(other)
    related = [Related("the other one's folder", place)] if place else []
    help_text, since = "a folder for each training", ""
    severity: Severity | None = None if found.name in _SIZES else "info"
    effect = None
    if found.row is not None:
        # Folders of one name are one folder where the path says so; scripts may run in two places.
        severity = "error" if path.startswith("/") else "warning"
        effect = Effect.STOPS if severity == "error" else None
        facts = [launch.facts[found.name]] if found.name in launch.facts else []
        related += [Related(f"{found.name} {found.here}", fact) for fact in facts]
        message += f": {found.row.stops}"
        help_text = f"a folder for each layout, or {found.row.before}"
        since = found.row.since
    return Complaint(
        message, folder, tuple(related), help_text, severity, effect=effect, since=since
    )


def _other(one: LaunchConfig, two: LaunchConfig) -> _Difference | None:
    """The setting in which two trainings differ, and its values."""
    sizes = _differing(one, two, _SIZES)
    if sizes is None and (change := refused(two, one)) is not None:
        return _Difference(change.name, change.new, change.old, change.row)
    return sizes or _differing(one, two, _TRAINING) or _set(one, two)


def _differing(one: LaunchConfig, two: LaunchConfig, names: tuple[str, ...]) -> _Difference | None:
    """The first of these facts that both know and that differs."""
    for name in names:
        here, there = one.value(name), two.value(name)
        if None in (here, there) or isinstance(here, Unknown) or isinstance(there, Unknown):
            continue
        if here != there:
            return _Difference(name, here, there)
    return None


def _set(one: LaunchConfig, two: LaunchConfig) -> _Difference | None:
    for scope, name in _SETTINGS:
        here, there = text_of(one.setting(scope, name)), text_of(two.setting(scope, name))
        if here and there and here != there:
            return _Difference(name.lstrip("-"), here, there)
    return None
