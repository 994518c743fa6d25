"""How long a run is and how its learning rate and batch change: from the job to texts of train.py."""

import math
from collections.abc import Mapping
from typing import Any

from ....compiler.plan import Plan
from ....dsl.job import Job, Train
from ...languages import python
from ...languages.python import Python

#: Share of the way down that is still ahead after `done` of wsd's last steps; Megatron-core's styles
#: (core/optimizer_param_scheduler.py, get_lr).
DECAYS: Mapping[str, Python] = {
    "linear": python.code("(1 - done)"),
    "cosine": python.code("0.5 * (1 + math.cos(math.pi * done))"),
    "sqrt": python.code("(1 - math.sqrt(done))"),
    "exponential": python.code("(2 * 0.5**done - 1)"),
}


def stages(train: Train) -> list[tuple[int, int]]:
    """Steps and sequences of each batch size before the last: equal tokens in each."""
    if train.ramp_from is None or train.ramp_tokens is None:
        return []
    sizes = range(train.ramp_from, train.global_batch, train.ramp_from)
    tokens = train.ramp_tokens / len(sizes)
    return [(max(1, round(tokens / (size * train.seq_len))), size) for size in sizes]


def steps(train: Train) -> int:
    """Steps of the run: as many as are asked for, or as consume its tokens."""
    growing = stages(train)
    if train.tokens is None or not growing:
        return train.total_steps
    sequences = math.ceil(train.tokens / train.seq_len)
    rest = max(0, sequences - sum(count * size for count, size in growing))
    return sum(count for count, _ in growing) + math.ceil(rest / train.global_batch)


def schedule_values(plan: Plan) -> dict[str, Any]:
    """Values for train.py's `learning_rate_factor` and batch ramp."""
    train = plan.job.train
    floor = train.min_learning_rate / train.learning_rate
    return {
        "warmup": train.warmup_steps,
        "schedule": train.schedule,
        "decay_steps": train.wsd_steps,
        "decay": DECAYS[train.decay_style],
        "floor": f"{floor:.6g}",
        "rest": f"{1 - floor:.6g}",
        "steps": steps(train),
        "ramp": _micro_batches(plan),
    }


def _micro_batches(plan: Plan) -> list[tuple[int, int]]:
    """Steps and micro-batches of each batch size before the last."""
    each = plan.layout.micro_batch * plan.layout.dp
    return [(count, size // each) for count, size in stages(plan.job.train)]


def ramps(job: Job) -> bool:
    return bool(stages(job.train))
