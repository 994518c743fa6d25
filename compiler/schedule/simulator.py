"""The passes of each rank in order, and how long they take -> when each begins and ends.

A rank runs one pass at a time, in its order. A forward pass waits for that of the virtual stage before, a
backward pass, or its half for inputs, for that of the stage after; nothing waits for a weight gradient. A
message occupies its sender, and its receiver waits for it. Virtual stage s is chunk s // pp of rank s % pp,
in the shape of a V of rank pp - 1 - s % pp where the chunk is odd.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .orders import Order
from .passes import BACKWARD, FORWARD, WEIGHT, Pass


@dataclass(frozen=True)
class Pipeline:
    """Nanoseconds of the passes of one micro-batch by rank and chunk, and of a message between stages.

    `weight` is the part of the backward pass that weight gradients take, where an order divides it.
    """

    forward: Sequence[Sequence[int]]
    backward: Sequence[Sequence[int]]
    message: int = 0
    weight: Sequence[Sequence[int]] = ()
    v_shaped: bool = False

    @property
    def pp(self) -> int:
        return len(self.forward)

    @property
    def vpp(self) -> int:
        return len(self.forward[0])

    def times(self) -> list[Sequence[Sequence[int]]]:
        """Nanoseconds by kind of pass, rank and chunk."""
        weight = self.weight or [[0] * self.vpp] * self.pp
        inputs = [
            [whole - part for whole, part in zip(*pair, strict=True)]
            for pair in zip(self.backward, weight, strict=True)
        ]
        return [self.forward, self.backward, inputs, weight]

    def stages(self, rank: int) -> list[int]:
        """The virtual stage of each chunk of a rank."""
        turned = self.pp - 1 - rank if self.v_shaped else rank
        return [chunk * self.pp + (turned if chunk % 2 else rank) for chunk in range(self.vpp)]


class Run(NamedTuple):
    """A pass with its begin and end, and the end of the message that it sends, in nanoseconds of the step."""

    work: Pass
    begin: int
    end: int
    sent: int


def simulate(pipeline: Pipeline, order: Order, microbatches: int) -> list[list[Run]]:
    """The runs of each rank, in order. Raises ValueError where an order waits for itself."""
    pp, vpp = pipeline.pp, pipeline.vpp
    passes = [order(pp, vpp, microbatches, rank) for rank in range(pp)]
    found = _Simulation(pipeline, passes, microbatches).run()
    if any(len(runs) < len(planned) for runs, planned in zip(found, passes, strict=True)):
        raise ValueError(f"{microbatches} micro-batches never end on {pp} ranks of {vpp} chunks")
    return found


def length(runs: Sequence[Sequence[Run]]) -> int:
    """Nanoseconds until the last pass of any rank has ended and its message is sent."""
    return max(each[-1].sent for each in runs)


#: When a pass may begin whose message has not come yet.
UNKNOWN = -1


class _Simulation:
    """Ranks that each run until they wait for a message, which wakes them."""

    def __init__(self, pipeline: Pipeline, passes: Sequence[Sequence[Pass]], microbatches: int):
        self.pipeline, self.passes = pipeline, passes
        self.last = pipeline.pp * pipeline.vpp - 1
        self.times = pipeline.times()
        self.stages = [pipeline.stages(rank) for rank in range(pipeline.pp)]
        self.owner = {stage: rank for rank, own in enumerate(self.stages) for stage in own}
        self.runs: list[list[Run]] = [[] for _ in passes]
        self.clock = [0] * pipeline.pp
        stages = range(self.last + 1)
        # When the input of each pass is there, by direction, virtual stage and micro-batch.
        self.inputs = [[[UNKNOWN] * microbatches for _ in stages] for _ in range(2)]
        self.inputs[FORWARD][0] = [0] * microbatches
        self.awake = deque(range(pipeline.pp))

    def run(self) -> list[list[Run]]:
        while self.awake:
            rank = self.awake.popleft()
            todo, runs = self.passes[rank], self.runs[rank]
            while len(runs) < len(todo) and self._pass(rank, todo[len(runs)]):
                pass
        return self.runs

    def _pass(self, rank: int, work: Pass) -> bool:
        """Runs one pass of a rank; False where its input has not come."""
        kind, chunk, microbatch = work
        stage, now = self.stages[rank][chunk], self.clock[rank]
        ready = self.inputs[kind != FORWARD][stage][microbatch]
        if ready == UNKNOWN:
            return False
        begin = ready if ready > now else now
        end = begin + self.times[kind][rank][chunk]
        sent = end if kind == WEIGHT else self._send(rank, stage, work, end)
        self.clock[rank] = sent
        self.runs[rank].append(Run(work, begin, end, sent))
        return True

    def _send(self, rank: int, stage: int, work: Pass, end: int) -> int:
        """Hands a pass's output to the pass that takes it; returns when it is there."""
        forward = work.kind == FORWARD
        if forward and stage == self.last:
            self.inputs[BACKWARD][stage][work.microbatch] = end
            return end
        to = stage + 1 if forward else stage - 1
        if to < 0:
            return end
        owner = self.owner[to]
        sent = end if owner == rank else end + self.pipeline.message
        self.inputs[not forward][to][work.microbatch] = sent
        self.awake.append(owner)
        return sent
