"""Arguments of Transformers' Trainer that need or exclude each other.

Why:
TrainingArguments refuses them when they are read: on every rank, after the job has waited for its nodes.

Bad:
torchrun --nproc-per-node 8 train.py --output_dir out --per_device_train_batch_size 4 \\
    --learning_rate 1e-5 --lr_scheduler_type reduce_lr_on_plateau

Good:
torchrun --nproc-per-node 8 train.py --output_dir out --per_device_train_batch_size 4 \\
    --learning_rate 1e-5 --lr_scheduler_type reduce_lr_on_plateau --eval_strategy epoch
"""

from collections.abc import Iterator

from ....backends.deepspeed.option_rows import OPTIMIZER
from ....backends.huggingface.option_rows import LR_SCHEDULE, RECOMPUTES
from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.facts import Setting, number_of, text_of
from ...facts.fsdp import fsdp_of
from ...facts.launched_job import LaunchedJob
from ...facts.release import TRANSFORMERS
from ...facts.trainer import (
    compares_deepspeed,
    evaluates,
    is_on,
    reads_training_arguments,
    trainer_argument,
)
from ...finding import Complaint, Related

CODE = "PAR475"
TITLE = "arguments of the Trainer that do not go together"
SEVERITY = "error"
SOURCE = (
    "transformers 5.23 training_args.py, _validate_args, as 4.36 to 4.57 do; 4.30.0 to 4.33.0 deepspeed.py, "
    "deepspeed_optim_sched; huggingface/transformers#24359"
)
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"

#: Releases that stop at an optimizer of DeepSpeed without its schedule.
_PAIRED = ("4.30", "4.31", "4.32", "4.33")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not reads_training_arguments(launch) and launch.kind.program != "trainer":
        return
    yield from _prefetch(launch)
    yield from _plateau(launch)
    yield from _logging(launch)
    yield from _schedule(launch)
    yield from _recomputed_twice(launch)


def _prefetch(launch: LaunchedJob) -> Iterator[Complaint]:
    factor = trainer_argument(launch, "dataloader_prefetch_factor")
    workers = trainer_argument(launch, "dataloader_num_workers")
    if number_of(factor) and factor is not None and (workers is None or number_of(workers) == 0):
        related = (Related("no worker loads data", workers),) if workers is not None else ()
        message = "dataloader_prefetch_factor without dataloader_num_workers above 0"
        yield Complaint(message, factor, related)


def _plateau(launch: LaunchedJob) -> Iterator[Complaint]:
    """A schedule by the evaluation's loss."""
    schedule = trainer_argument(launch, LR_SCHEDULE)
    evaluating = evaluates(launch)
    if schedule is None or text_of(schedule) != "reduce_lr_on_plateau":
        return
    if evaluating is None or text_of(evaluating) == "no":
        related = (Related("nothing is evaluated", evaluating),) if evaluating is not None else ()
        message = "lr_scheduler_type reduce_lr_on_plateau needs an eval_strategy"
        yield Complaint(message, schedule, related)


def _logging(launch: LaunchedJob) -> Iterator[Complaint]:
    steps = trainer_argument(launch, "logging_steps")
    if steps is not None and text_of(steps) == "0" and _by_steps(launch):
        message = "logging_steps 0 while logging_strategy is steps"
        yield Complaint(message, steps, help="--logging_strategy no")


def _schedule(launch: LaunchedJob) -> Iterator[Complaint]:
    """An optimizer of DeepSpeed without its schedule, which some releases refuse."""
    optimizer, release = launch.key(OPTIMIZER), launch.release(TRANSFORMERS).release
    if optimizer is None or release not in _PAIRED or not compares_deepspeed(launch):
        return
    if not any(each.name.startswith("scheduler") for each in launch.all("json")):
        message = f"Transformers {release} needs a `scheduler` beside DeepSpeed's `optimizer`"
        yield Complaint(message, optimizer, help="a `scheduler`, or no `optimizer`")


def _recomputed_twice(launch: LaunchedJob) -> Iterator[Complaint]:
    """Trainer.create_accelerator_and_postprocess of Transformers 4 raises for both; 5.23 has no such test."""
    release = launch.release(TRANSFORMERS).release or ""
    fsdp, own = fsdp_of(launch), trainer_argument(launch, RECOMPUTES)
    if fsdp is None or fsdp.recomputes is None or own is None or not is_on(own):
        return
    if not release or release.startswith("4."):
        message = "gradient_checkpointing beside activation_checkpointing of FSDP"
        related = (Related("FSDP recomputes, too", fsdp.recomputes),)
        effect = Effect.STOPS if release else None
        severity: Severity | None = None if release else "warning"
        yield Complaint(message, own, related, "keep one of the two", severity, effect=effect)


def _by_steps(launch: LaunchedJob) -> bool:
    strategy: Setting | None = trainer_argument(launch, "logging_strategy")
    return strategy is None or text_of(strategy) == "steps"
