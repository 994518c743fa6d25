"""Two launches of one repository that write their checkpoints to one folder, and both go on from it.

Why:
Whichever starts second goes on from the other's step, weights and data, or stops because the shapes differ:
Megatron-LM compares the model's sizes with those of the checkpoint. It is a hint where the sizes are the
same, since a later stage may be meant to go on from an earlier one.

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

from collections.abc import Iterator

from ....backends.huggingface.option_rows import TRAINER, option
from ....backends.megatron.option_rows import ROWS
from ....dsl.diagnostics import Severity
from ....reading.facts import LaunchConfig, Unknown, text_of
from ...facts.kept import kept_by
from ...facts.launched_job import LaunchedJob
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
_TRAINING = ("tp", "pp", "seq_len", "global_batch", "precision")
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


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    kept = kept_by(launch.config)
    if kept is None or kept.folder is None:
        return
    first, *between = launch.earlier(launch.config) or (None,)
    theirs = None if first is None else kept_by(first)
    if first is None or theirs is None or theirs.folder is None:
        return
    found = _other(launch.config, first)
    # What the third script of a folder would be told, the second was.
    if found and not any(_other(each, first) for each in between):
        name, here, there = found
        scripts = f"{next(iter(first.texts))} and {launch.path}"
        message = f"{scripts} both resume from {kept.path}, with {name} {there} and {here}"
        severity: Severity | None = None if name in _SIZES else "info"
        place = LaunchedJob(first).span(theirs.folder)
        related = (Related("the other one's folder", place),) if place else ()
        help_text = "a folder for each training"
        yield Complaint(message, kept.folder, related, help_text, severity)


def _other(one: LaunchConfig, two: LaunchConfig) -> tuple[str, object, object] | None:
    """The setting in which two trainings differ, and its values."""
    return _differing(one, two, _SIZES) or _differing(one, two, _TRAINING) or _set(one, two)


def _differing(
    one: LaunchConfig, two: LaunchConfig, names: tuple[str, ...]
) -> tuple[str, object, object] | None:
    """The first of these facts that both know and that differs."""
    for name in names:
        here, there = one.value(name), two.value(name)
        if None in (here, there) or isinstance(here, Unknown) or isinstance(there, Unknown):
            continue
        if here != there:
            return name, here, there
    return None


def _set(one: LaunchConfig, two: LaunchConfig) -> tuple[str, object, object] | None:
    for scope, name in _SETTINGS:
        here, there = text_of(one.setting(scope, name)), text_of(two.setting(scope, name))
        if here and there and here != there:
            return name.lstrip("-"), here, there
    return None
