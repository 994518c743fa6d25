"""The passes of a pipeline in 1F1B -> the time of a step in closed form: its longest chain of passes.

A step takes as long as its longest chain of passes each of which waits for the one before: for its rank, or
for the message of another. A chain leaves a rank only where another gives more, so few chains can be the
longest:

- stay: warm up on the heaviest chunks, run all passes of one rank, cool down on the heaviest chunks;
- turn: the same, but where the rank runs ahead of later ones, go forward through those and back;
- once: with one group of micro-batches, wait for the heaviest chunks in one direction alone;
- wrap: where chunks differ by their index, ranks at both ends pair a forward pass with different backward
  passes; a chain that changes between them each round takes the heavier pair;
- visit: go each round to the last rank for the chunk with the head;
- pass by: where that chunk is lightest, go back and forth through the ranks before it in its place.

The first three are chains of every such step, and none is longer than it. A step of one chunk per rank, or of
equal chunks, is `stay` or `turn`. Reversed in time a step is one with forward and backward passes exchanged,
and so are its chains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

#: Time of passes in one direction by rank and chunk, in any unit.
Times = Sequence[Sequence[int]]
_WarmUp = tuple[list[int], list[int]]


def longest_chain(forward: Times, backward: Times, microbatches: int, group: int) -> int:
    """The time of a step in 1F1B, interleaved where ranks have several chunks; messages take none. `group`
    micro-batches pass a chunk before the next chunk's turn."""
    return Chains(Ranks(forward, backward, group), microbatches).longest


@dataclass(frozen=True)
class Ranks:
    """The passes of a pipeline's ranks, and what of a step's chains is alike for any number of micro-batches;
    `group` of them pass a chunk before the next chunk's turn."""

    forward: Times
    backward: Times
    group: int
    _gains: dict[tuple[int, int], int] = field(default_factory=dict, compare=False)

    @property
    def vpp(self) -> int:
        return len(self.forward[0])

    @cached_property
    def chunks(self) -> list[list[int]]:
        """Both passes of a micro-batch by rank and chunk."""
        pairs = zip(self.forward, self.backward, strict=True)
        return [[sum(both) for both in zip(*pair, strict=True)] for pair in pairs]

    @cached_property
    def slots(self) -> list[int]:
        """The slots that a micro-batch takes, by rank."""
        return [sum(rank) for rank in self.chunks]

    @cached_property
    def ramps(self) -> list[int]:
        """The longest way to a rank and back, beside all passes of that rank."""
        begins = self._warm_ups[0][0], self._warm_ups[1][0]
        own = [self.group * sum(rank[:-1]) for rank in self.chunks]
        return [there + back - less for there, back, less in zip(*begins, own, strict=True)]

    @cached_property
    def slowest_inner(self) -> int:
        """The last of the slowest ranks between the ends, or of two ranks the slower one."""
        pp = len(self.slots)
        inner = range(1, pp - 1) if pp > 2 else range(pp)
        return max(inner, key=lambda rank: (self.slots[rank], rank))

    def gain(self, rank: int, passes: int) -> int:
        """The most that turns of a rank's chain gain in steps of so many passes in one direction: one that no
        rank's warm-up fills is like any longer one."""
        key = rank, min(passes, self._longest_warm_up)
        if key not in self._gains:
            ahead = _turn(self.forward, self.backward, self.group, key[1], rank)
            behind = _turn(self.backward, self.forward, self.group, key[1], rank)
            both = _run_ahead(self.forward, self.group, rank) < passes
            self._gains[key] = ahead + behind if both else max(ahead, behind)
        return self._gains[key]

    @cached_property
    def once(self) -> int:
        """The longest chain that waits for the heaviest chunks in one direction alone, of one group."""
        forward, backward = (ends[-1] for _, ends in self._warm_ups)
        passes = (sum(map(sum, way)) for way in (self.backward, self.forward))
        return max(map(sum, zip((forward, backward), passes, strict=True)))

    @cached_property
    def _longest_warm_up(self) -> int:
        return _run_ahead(self.forward, self.group, 0) + 1

    @cached_property
    def _warm_ups(self) -> tuple[_WarmUp, _WarmUp]:
        """Warm-ups of both directions; a multiple of one's passes takes that multiple of its warm-up."""
        begins, ends = found = _warm_up(self.forward, self.group)
        times = self.backward[0][0] // self.forward[0][0] if self.forward[0][0] else 0
        if [[times * each for each in rank] for rank in self.forward] != self.backward:
            return found, _warm_up(self.backward, self.group)
        return found, ([times * each for each in begins], [times * each for each in ends])


@dataclass(frozen=True)
class Chains:
    """Chains of passes of a step."""

    ranks: Ranks
    microbatches: int

    @property
    def longest(self) -> int:
        """The time of the longest chain."""
        return max((*self.sound, *self.repeated()))

    @cached_property
    def sound(self) -> list[int]:
        """The time of chains that every step has. Of ranks that are alike the last turns best."""
        ranks, stays, passes = self.ranks, self.stays, self.microbatches * self.ranks.vpp
        times = [max(stays)]
        for rank in {0, ranks.slowest_inner, len(stays) - 1, stays.index(times[0])}:
            times.append(stays[rank] + ranks.gain(rank, passes))
        if ranks.group == self.microbatches:
            times.append(ranks.once)
        return times

    def repeated(self) -> Iterator[int]:
        """The time of chains that change ranks once in each round of micro-batches."""
        rounds = self.microbatches // self.ranks.group
        if self.ranks.vpp == 1 or rounds == 1:
            return
        each, last = self.ranks.slowest_inner, len(self.ranks.forward) - 1
        heavier, way = self._visit(last - each)
        if each != last and heavier > way:
            yield self.stays[each] + rounds * heavier - (rounds - 1) * way
        around = self._around()
        if around > 0:
            yield self.stays[last] + (rounds - 1) * around
        wrap = self._wrap(each)
        if wrap > 0:
            yield self._without_wraps(each) + self._once_more(each) + (rounds - 2) * wrap

    @cached_property
    def stays(self) -> list[int]:
        """All passes of one rank, after the longest way to it and before the longest way back."""
        pairs = zip(self.ranks.slots, self.ranks.ramps, strict=True)
        return [self.microbatches * slot + ramps for slot, ramps in pairs]

    def _visit(self, distance: int) -> tuple[int, int]:
        """The gain of a round where the chain goes `distance` ranks on to the last for its last chunk, and
        what the way from there to the next round costs: two passes per rank of the first chunk are missed for
        one of the last."""
        here, last = self.ranks.chunks[-1 - distance], self.ranks.chunks[-1]
        return self.ranks.group * (last[-1] - here[-1]), distance * (2 * here[0] - here[-1])

    def _around(self) -> int:
        """The gain of a round where the chain leaves the last rank after the backward passes of its first
        chunk, goes back through some ranks and forward again with that chunk, and misses two passes of the
        last rank's last chunk for each of them, at most the group."""
        ranks = min(len(self.ranks.chunks) - 1, self.ranks.group // 2)
        before = self.ranks.chunks[-1 - ranks : -1]
        return sum(chunks[0] - 2 * self.ranks.chunks[-1][-1] for chunks in before)

    def _wrap(self, each: int) -> int:
        """The gain of a round where the chain goes from the last rank with heavy chunks on to the next chunk
        of the first such rank, and back the other way: each pass of a group takes a heavy chunk for a light
        one once, less two heavy chunks for a light one on each rank that is not between them."""
        heavy, light = max(self.ranks.chunks[each]), min(self.ranks.chunks[each])
        alike = self._like(each, light)
        apart = alike[-1] - alike[0]
        return self.ranks.group * (heavy - light) - (len(self.ranks.slots) - apart) * (
            2 * heavy - light
        )

    def _like(self, each: int, light: int) -> list[int]:
        """Ranks whose heavy chunks take as long as those of rank `each`, in order."""
        own = self.ranks.chunks[each]
        heavier = [index for index, chunk in enumerate(own) if chunk > light]
        return [
            rank
            for rank, chunks in enumerate(self.ranks.chunks)
            if all(chunks[index] >= own[index] for index in heavier)
        ]

    def _without_wraps(self, each: int) -> int:
        """The longest sound chain as far as it runs at the pace of rank `each`."""
        longest = max(self.sound)
        slowest = self.ranks.slots[max(range(len(self.stays)), key=self.stays.__getitem__)]
        return longest - self.microbatches * max(slowest - self.ranks.slots[each], 0)

    def _once_more(self, each: int) -> int:
        """The gain of the first wrap while the ranks fill: a heavy backward pass for a light pair."""
        forward, backward = self.ranks.forward[each], self.ranks.backward[each]
        return self.ranks.group * max(max(backward) - min(backward) - min(forward), 0)


def _warm_up(times: Times, group: int) -> _WarmUp:
    """When each rank can begin the last chunk's first group, and when it ends it, with passes of one
    direction alone: the first and the last pass of a group wait for those of the rank before, and for the
    rank itself."""
    before = [0] * len(times)
    begun = ended = 0
    for chunk in range(len(times[0])):
        begins, ends = [], []
        for rank, own in enumerate(times):
            begins.append(max(begun, before[rank]))
            begun = begins[-1] + own[chunk]
            ended = max(begun + (group - 1) * own[chunk], ended + own[chunk])
            ends.append(ended)
        before = ends
    return begins, ends


def _turn(there: Times, back: Times, group: int, passes: int, rank: int) -> int:
    """The gain of a rank's chain where it goes through later ranks and back in place of the passes that the
    rank runs ahead of them; 0 where that is never longer."""
    pp, vpp = len(there), len(there[0])
    most = min(_run_ahead(there, group, rank), passes - 1)
    whole, sums = _passes(there[rank], group, most + 1), [0] * vpp
    returned = gained = 0
    for turned in range(rank + 1, pp):
        sums = [total + time for total, time in zip(sums, there[turned], strict=True)]
        returned += back[turned][-1]
        ahead = _run_ahead(there, group, turned)
        if ahead < passes:
            skipped = whole - _passes(there[rank], group, ahead + 1)
            gained = max(gained, sums[ahead // group % vpp] + returned - skipped)
    return gained


def _run_ahead(times: Times, group: int, rank: int) -> int:
    """Passes of a rank's warm-up, `orders.py:one_forward_one_backward`."""
    pp, vpp = len(times), len(times[0])
    return (vpp - 1) * group + (1 if vpp == 1 else 2) * (pp - 1 - rank)


def _passes(own: Sequence[int], group: int, count: int) -> int:
    """The time of a rank's first passes in one direction."""
    rounds, rest = divmod(count, group * len(own))
    chunks, part = divmod(rest, group)
    whole = group * (rounds * sum(own) + sum(own[:chunks]))
    return whole + (part * own[chunks] if part else 0)
