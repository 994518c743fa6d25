"""The checkpoints of a run -> text: how often, how large, what of them stays, and what failures take."""

from __future__ import annotations

from collections.abc import Iterator

from parc.compiler.checkpoints import Checkpointing
from parc.compiler.plan import Estimate, Goodput
from parc.dsl.job import Job

from .words.numbers import counted, number, seconds, span, stored
from .words.paragraphs import words

#: The share of the time that a setting saves at least to be named.
WORTH_SAYING = 0.02


def checkpoint_lines(job: Job, target: str, estimate: Estimate) -> list[str]:
    """A paragraph on checkpoints and one on goodput; nothing where the target writes none."""
    if not job.saves(target):
        return []
    found = Checkpointing(job, target, estimate)
    lines = words("  saves   ", "; ".join(_checkpoints(found)))
    return lines + (words("  goodput ", text) if (text := _goodput(found)) else [])


def _checkpoints(found: Checkpointing) -> Iterator[str]:
    checkpoint, goodput = found.estimate.checkpoint, found.estimate.goodput
    steps = counted(found.interval_steps, "step")
    text = f"{stored(checkpoint.bytes)} each {span(found.interval_seconds)} ({steps})"
    if checkpoint.write_seconds is not None:
        text += f", written in {span(checkpoint.write_seconds)}"
        if goodput and goodput.stopped_seconds != checkpoint.write_seconds:
            text += f" while training goes on after {seconds(goodput.stopped_seconds)}"
    yield text
    stay = "all stay" if found.kept == found.written else f"{found.kept:,} stay"
    yield f"{found.written:,} in the run, {stay}: {stored(found.kept * checkpoint.bytes)}"
    if found.job.elastic and found.job.train.elastic is None:
        yield "in a form with which another number of nodes can go on, since `nodes` is open"
    if found.starts is not None and found.signal_seconds:
        starts = counted(found.starts, "start")
        yield f"{starts}, the last checkpoint {span(found.signal_seconds)} before the end of each"


def _goodput(found: Checkpointing) -> str:
    """The share that failures take of wall-clock time; empty where nothing is known of them."""
    if goodput := found.estimate.goodput:
        return (
            f"{goodput.share:.1%} (days, cost and energy are of wall-clock time): "
            f"{number(goodput.failures_per_day)} failures a day, one in {span(goodput.mtbf_seconds)}; "
            f"each loses {span(goodput.lost_seconds)} and the steps since the last checkpoint"
            f"{_asynchronous(found, goodput)}"
        )
    if (share := expected_goodput(found)) is None:
        return ""
    return (
        f"{share:.1%} is expected with the job's own `checkpoint_interval` (days, cost and energy are of "
        "the steps alone)"
    )


def _asynchronous(found: Checkpointing, goodput: Goodput) -> str:
    """The gain that `async_checkpoints` would bring, where the target has it and it is worth a word."""
    gain = asynchronous_gain(found) - goodput.share
    if gain < WORTH_SAYING:
        return ""
    return f"; `async_checkpoints = true` is expected to bring {gain:.1%} more"


def asynchronous_gain(found: Checkpointing) -> float:
    """The goodput with asynchronous checkpoints; 0 where the target refuses them, where they do not fit into
    half of the hosts' memory, and where they are on."""
    import numpy as np

    from parc.backends import TARGETS
    from parc.compiler.case import Case
    from parc.compiler.pricing.goodput import goodput

    job, target = found.job, TARGETS[found.target].target
    room = job.cluster.node_memory * found.estimate.nodes / 2
    if job.train.async_checkpoints or found.estimate.checkpoint.bytes > room:
        return 0.0
    train = job.train.model_copy(update={"async_checkpoints": True})
    other = job.model_copy(update={"train": train})
    if any(each.severity == "error" for each in target.refuses(other)):
        return 0.0
    return float(goodput(Case(other, target), np.array([found.estimate.gpus]))[0])


def expected_goodput(found: Checkpointing) -> float | None:
    """The share of wall-clock time in which a run with an interval of its own trains; None where nothing is
    known of failures."""
    import numpy as np

    from parc.compiler.pricing.goodput import Losses

    cluster, written = found.job.cluster, found.estimate.checkpoint.write_seconds
    if cluster.gpu_mtbf is None or written is None:
        return None
    numbers = (
        cluster.gpu_mtbf / found.estimate.gpus,
        written,
        written + (cluster.restart_time or 0.0),
        found.interval_seconds,
    )
    return float(Losses(*(np.array([each]) for each in numbers)).goodput[0])
