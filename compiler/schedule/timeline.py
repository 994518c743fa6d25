"""A priced layout -> the timeline of its step: what each pipeline rank does, when, and why it waits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..algebra import NANO, Numbers
from ..case import Case
from ..pipeline.even_split import Split, ranks_of
from ..plan import Estimate
from ..pricing.estimate import decisions, one_row
from ..pricing.ranks import Ranks
from ..time import step
from .durations import Parts, Passes, rank_passes
from .orders import ORDERS, V_SHAPED, enough_microbatches, repeated_rounds
from .simulator import Pipeline, Run, length, simulate

#: Lanes of a rank. Only exposed time is shown: what overlaps the work delays nobody.
COMPUTE, COLLECTIVES, SENDS = LANES = ("compute", "collectives", "sends")
#: The lane of a part of a pass and how it is called there, in the order in which parts are drawn.
SHOWN = {
    "recompute": (COMPUTE, "recompute"),
    "compute": (COMPUTE, ""),
    "host": (COMPUTE, "wait for host"),
    "other": (COMPUTE, "micro-batch overhead"),
    "tp": (COLLECTIVES, "tensor parallel"),
    "cp": (COLLECTIVES, "context parallel"),
    "ep": (COLLECTIVES, "expert parallel"),
    "dp": (COLLECTIVES, "weights and gradients"),
}
#: What follows the last pass on every rank, by the estimate's part.
AFTER = {
    "dp": (COLLECTIVES, "weights and gradients"),
    "optimizer": (COMPUTE, "optimizer"),
    "other": (COMPUTE, "step overhead"),
    "stragglers": (COMPUTE, "wait for stragglers"),
}


#: What a pass computes, by its kind.
COMPUTED = ("forward", "backward", "input gradients", "weight gradients")


class Event(NamedTuple):
    """Something that a rank does, in whole nanoseconds of the step; `microbatch` and `chunk` count from 0,
    and are None outside passes."""

    rank: int
    lane: str
    name: str
    begin: int
    end: int
    microbatch: int | None = None
    chunk: int | None = None


@dataclass(frozen=True)
class Timeline:
    """A simulated step. `pipeline_ns` is what the passes take, None unless all micro-batches are shown, and
    `closed_form_ns` what the estimate says of them: slots of the slowest rank, sends and bubble. `after` are
    the parts of the step that follow.
    """

    schedule: str
    passes: tuple[tuple[Passes, ...], ...]
    message_ns: int
    runs: tuple[tuple[Run, ...], ...]
    shown: int
    pipeline_ns: int | None
    closed_form_ns: int
    after: Parts

    def events(self) -> Iterator[Event]:
        """The events of each rank in turn; of a lane in order, and never two at once."""
        for rank, runs in enumerate(self.runs):
            now = 0
            for run in runs:
                if run.work.microbatch < self.shown:
                    if run.begin > now:
                        yield Event(rank, COMPUTE, "bubble", now, run.begin)
                    yield from self._pass(rank, run)
                now = run.sent
            if self.pipeline_ns is not None:
                yield from self._end(rank, now, self.pipeline_ns)

    def _pass(self, rank: int, run: Run) -> Iterator[Event]:
        work, now = run.work, run.begin
        passes = self.passes[rank][work.chunk]
        parts = passes.parts(work.kind)
        at = work.microbatch, work.chunk
        for part, (lane, name) in SHOWN.items():
            if part in parts:
                called = name or COMPUTED[work.kind]
                yield Event(rank, lane, called, now, now + parts[part], *at)
                now += parts[part]
        if run.sent > now:
            name = "send gradients" if work.backward else "send activations"
            yield Event(rank, SENDS, name, now, run.sent, *at)

    def _end(self, rank: int, now: int, end: int) -> Iterator[Event]:
        """The last bubble, and what follows it on all ranks."""
        if end > now:
            yield Event(rank, COMPUTE, "bubble", now, end)
        for part, (lane, name) in AFTER.items():
            if self.after.get(part):
                yield Event(rank, lane, name, end, end + self.after[part])
                end += self.after[part]

    @property
    def step_ns(self) -> int | None:
        """The whole step as it is shown."""
        return None if self.pipeline_ns is None else self.pipeline_ns + sum(self.after.values())


def timeline(
    case: Case, estimate: Estimate, schedule: str | None = None, shown: int | None = None
) -> Timeline:
    """The step of an estimate, or its `shown` first micro-batches; `schedule` is a name in ORDERS, the plan's
    unless given."""
    layout = estimate.layout
    schedule = schedule or layout.order_name
    ranks, placement, passes = _passes(case, estimate, schedule)
    shown = min(shown or layout.microbatches, layout.microbatches)
    count = layout.microbatches
    if shown < count:
        count = enough_microbatches(ORDERS[schedule], layout.pp, layout.vpp, count, shown)
    pipeline = _pipeline(ranks.x, passes, placement.v_shaped)
    runs = simulate(pipeline, ORDERS[schedule], count)
    closed, after = _closed_form(ranks, placement)
    return Timeline(
        schedule=schedule,
        passes=passes,
        message_ns=pipeline.message,
        runs=tuple(map(tuple, runs)),
        shown=shown,
        pipeline_ns=length(runs) if shown == layout.microbatches else None,
        closed_form_ns=closed,
        after=after,
    )


#: Passes of the longest step that is simulated for its length alone, some tenths of a second.
MOST_PASSES = 40_000


def simulated_seconds(case: Case, estimate: Estimate) -> float | None:
    """The seconds of a step of an estimate with its passes simulated; without a pipeline the estimate's, None
    for more than MOST_PASSES. Of a long step the first rounds are simulated, and the last of them is counted
    again for those that follow."""
    layout = estimate.layout
    pp, vpp, count = layout.pp, layout.vpp, layout.microbatches
    if pp == 1:
        return estimate.step_seconds
    order = ORDERS[layout.order_name]
    repeated = repeated_rounds(order, pp, vpp, count)
    begun = count - repeated * pp
    if 2 * pp * vpp * begun > MOST_PASSES:
        return None
    ranks, placement, passes = _passes(case, estimate, layout.order_name)
    pipeline = _pipeline(ranks.x, passes, placement.v_shaped)
    taken = length(simulate(pipeline, order, begun))
    if repeated:
        taken += repeated * (taken - length(simulate(pipeline, order, begun - pp)))
    _, after = _closed_form(ranks, placement)
    return (taken + sum(after.values())) / NANO


def _passes(
    case: Case, estimate: Estimate, schedule: str
) -> tuple[Ranks, Split, tuple[tuple[Passes, ...], ...]]:
    """The prices of an estimate's layout, where its layers are, and the passes of each rank and chunk."""
    layout = estimate.layout
    ranks = Ranks(case, one_row(case, decisions(case, estimate)))
    placement = ranks_of(case.model, estimate.split, layout.pp, schedule in V_SHAPED)
    return (
        ranks,
        placement,
        tuple(tuple(rank_passes(ranks, placement, rank)) for rank in range(layout.pp)),
    )


def event_count(pp: int, vpp: int, microbatches: int) -> int:
    """The most events of a step: parts and message of each pass, a bubble before it, and the step's end."""
    return pp * (2 * vpp * microbatches * (len(SHOWN) + 2) + len(AFTER) + 1)


def _pipeline(x: Numbers, passes: tuple[tuple[Passes, ...], ...], v_shaped: bool) -> Pipeline:
    """The slots of `time/step.py:boundary` are of all messages of a micro-batch: one each way per chunk."""
    return Pipeline(
        forward=[[sum(each.forward.values()) for each in rank] for rank in passes],
        backward=[[sum(each.backward.values()) for each in rank] for rank in passes],
        message=step.boundary(x) // (2 * x.variable("vpp")),
        weight=[[each.weight for each in rank] for rank in passes],
        v_shaped=v_shaped,
    )


def _closed_form(ranks: Ranks, placement: Split) -> tuple[int, Parts]:
    """Nanoseconds of a step's passes, sends and bubble as estimates have them, and its other parts."""
    slots = ranks.slots(placement)
    totals = [sum(parts.values()) for parts in slots]
    slowest = slots[totals.index(max(totals))]
    whole = ranks.step_parts(placement)
    after = {part: whole[part] - _passed(ranks.x, slowest, part) for part in AFTER if part in whole}
    return sum(whole.values()) - sum(after.values()), after


def _passed(x: Numbers, slowest: Mapping[str, int], part: str) -> int:
    """The share that the micro-batches of the slowest rank have of a part of the step."""
    return x.variable("microbatches") * slowest.get(part, 0)
