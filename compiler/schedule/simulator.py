"""The passes of each rank in order, and how long they take -> when each begins and ends.

A rank runs one pass at a time, in its order. A forward pass waits for that of the virtual stage before, a
backward pass for that of the stage after; a message occupies its sender, and its receiver waits for it.
Virtual stage s is chunk s // pp of rank s % pp.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .orders import Order, Pass


@dataclass(frozen=True)
class Pipeline:
    """Nanoseconds of the passes of one micro-batch by rank and chunk, and of a message between stages."""

    forward: Sequence[Sequence[int]]
    backward: Sequence[Sequence[int]]
    message: int = 0

    @property
    def pp(self) -> int:
        return len(self.forward)

    @property
    def vpp(self) -> int:
        return len(self.forward[0])


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
        self.runs: list[list[Run]] = [[] for _ in passes]
        self.clock = [0] * pipeline.pp
        stages = range(self.last + 1)
        # When the input of each pass is there, by direction, virtual stage and micro-batch.
        self.inputs = [[[UNKNOWN] * microbatches for _ in stages] for _ in range(2)]
        self.inputs[False][0] = [0] * microbatches
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
        stage = work.chunk * self.pipeline.pp + rank
        ready = self.inputs[work.backward][stage][work.microbatch]
        if ready == UNKNOWN:
            return False
        begin = max(self.clock[rank], ready)
        times = self.pipeline.backward if work.backward else self.pipeline.forward
        end = begin + times[rank][work.chunk]
        self.clock[rank] = self._send(stage, work, end)
        self.runs[rank].append(Run(work, begin, end, self.clock[rank]))
        return True

    def _send(self, stage: int, work: Pass, end: int) -> int:
        """Hands a pass's output to the pass that takes it; returns when it is there."""
        if not work.backward and stage == self.last:
            self.inputs[True][stage][work.microbatch] = end
            return end
        to = stage - 1 if work.backward else stage + 1
        if to < 0:
            return end
        sent = end + self.pipeline.message * (self.pipeline.pp > 1)
        self.inputs[work.backward][to][work.microbatch] = sent
        self.awake.append(to % self.pipeline.pp)
        return sent
