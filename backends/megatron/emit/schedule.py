"""`Plan` -> the options of its length, its batch and its learning rate.

Megatron-LM counts a constant batch in steps and a growing one in sequences: its scheduler would multiply
steps with one micro-batch of every replica (training.py get_optimizer_param_scheduler), and a batch size
beside a schedule of sizes is refused (arguments.py:680).
"""

import math
from dataclasses import dataclass

from ....compiler.plan import Plan
from ....dsl.job import Train
from ..releases import has
from .flags import Flag, flag

#: Words of Megatron-LM for the schedules and for the end of wsd.
STYLES = {"cosine": "cosine", "linear": "linear", "constant": "constant", "wsd": "WSD"}
DECAYS = {
    "linear": "linear",
    "cosine": "cosine",
    "sqrt": "minus_sqrt",
    "exponential": "exponential",
}


@dataclass(frozen=True)
class Length:
    """The unit that `--lr-decay-<unit>` and its like count in, and the schedule's lengths in it."""

    unit: str
    total: int
    warmup: int
    decay: int


def length(train: Train) -> Length:
    """Megatron-LM wants the decay to outlast the warmup; a shorter run stops inside it."""
    total, warmup, decay = train.total_steps, train.warmup_steps, train.wsd_steps
    if len(train.ramp) == 1:
        return Length("iters", max(total, warmup + 1), warmup, decay)
    sequences = train.sequences_after(total)
    decaying = sequences - train.sequences_after(total - decay)
    return Length("samples", sequences, train.sequences_after(warmup), decaying)


def batch_flags(plan: Plan) -> list[Flag]:
    train, layout = plan.job.train, plan.layout
    per_step = f"{train.global_batch * train.seq_len:,} tokens a step"
    if train.steps is None and train.tokens is not None:
        per_step += f", {train.tokens:,} in all"
    micro = flag("--micro-batch-size", layout.micro_batch)
    if len(train.ramp) > 1:
        return [micro, *_ramp(plan)]
    replicas = f"{layout.microbatches} micro-batches on each of {layout.dp} replicas"
    return [
        micro,
        flag("--global-batch-size", train.global_batch, why=replicas),
        flag("--train-iters", train.total_steps, why=per_step),
    ]


def _ramp(plan: Plan) -> list[Flag]:
    train = plan.job.train
    if not has(plan.job, "--step-batch-size-schedule"):
        return _older_ramp(train)
    words = [f"{stage.begins * train.seq_len}:{stage.batch}" for stage in train.ramp]
    until = f"tokens:sequences a step; {train.ramp_tokens or 0:,} tokens until the batch is full"
    steps = f"sequences, in {train.total_steps:,} steps"
    return [
        flag("--step-batch-size-schedule", " ".join(words), why=until),
        flag("--eval-global-batch-size", train.global_batch, why="evaluation does not grow"),
        flag("--train-samples", train.sequences_after(train.total_steps), why=steps),
    ]


def _older_ramp(train: Train) -> list[Flag]:
    """Before 0.18: first batch, what each step adds, and the sequences until the batch is full
    (core_v0.17.1 core/num_microbatches_calculator.py:443)."""
    first, grown = train.ramp[0].batch, train.ramp[-1].begins
    until = (
        f"sequences a step, and those added each time; {grown:,} sequences until the batch is full"
    )
    steps = f"sequences, in {train.total_steps:,} steps"
    return [
        flag("--global-batch-size", train.global_batch),
        flag("--rampup-batch-size", first, first, grown, why=until),
        flag("--train-samples", train.sequences_after(train.total_steps), why=steps),
    ]


def rate_flags(plan: Plan) -> list[Flag]:
    """The learning rate: warmup from 0, then the schedule (core/optimizer_param_scheduler.py get_lr)."""
    train = plan.job.train
    counted = length(train)
    found = [flag("--lr", train.learning_rate), flag("--lr-decay-style", STYLES[train.schedule])]
    if train.schedule != "constant":
        found.append(flag("--min-lr", train.min_learning_rate))
    elif plan.job.stage:
        # core/optimizer/optimizer.py, param_group_identifier_keys: moments are found by it.
        why = "not reached: a stage that carries all has the same"
        found.append(flag("--min-lr", train.min_learning_rate, why=why))
    why = "" if counted.unit == "iters" else "a growing batch counts sequences, not steps"
    found.append(flag(f"--lr-decay-{counted.unit}", counted.total, why=why))
    found.append(flag(f"--lr-warmup-{counted.unit}", counted.warmup))
    if train.schedule == "wsd":
        high = math.floor(100 * (counted.total - counted.decay) / counted.total)
        why = f"the rate stays high for the first {high}%"
        found.append(flag("--lr-wsd-decay-style", DECAYS[train.decay_style]))
        found.append(flag(f"--lr-wsd-decay-{counted.unit}", counted.decay, why=why))
    return found
