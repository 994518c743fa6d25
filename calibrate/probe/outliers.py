"""Rows of the probe -> warnings: GPUs that are slower than their peers, and groups whose links are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from ...dsl.diagnostics import Diagnostic
from .codes import SLOW_LINK, SLOW_RANK
from .rows import (
    Attention,
    Collective,
    Copy,
    Launch,
    Machine,
    Probe,
    Product,
    Row,
    Stream,
    Training,
)

#: Time over the median of its peers from which a GPU counts as slow. GPUs of one model in one cluster differ
#: by 8 % in the mean (Sinha et al. 2022, arXiv 2208.11035).
SLOW = 1.1
#: The same of a group's exchanges, which vary more; a decision, not measured.
SLOW_EXCHANGE = 1.25
#: Rows that must say so, in the median, and how many times the spread of a rank's own batches it must be.
ENOUGH, DEVIATIONS = 2, 3.0
#: What a GPU does on its own, by what it is called in a warning.
WORK: Mapping[str, type] = {
    "matrix products": Product,
    "attention": Attention,
    "memory": Stream,
    "copies to its host": Copy,
    "kernel launches": Launch,
    "training steps": Training,
}
#: Host and number of a GPU there: starts of the probe may give hosts other ranks.
Place = tuple[str, int]
#: Time over that of peers, and the spread of batches.
Seen = tuple[float, float]


def outliers(probe: Probe) -> list[Diagnostic]:
    return [*_slow_ranks(probe), *_slow_links(probe)]


def _slow_ranks(probe: Probe) -> Iterator[Diagnostic]:
    for what, kind in WORK.items():
        seen: dict[Place, list[Seen]] = {}
        for row, machine in probe.rows:
            if isinstance(row, kind):
                for place, ratio in _against_peers(row, machine).items():
                    seen.setdefault(place, []).append((ratio, row.spread))
        for (host, local), found in sorted(seen.items()):
            if ratio := _sure(found, SLOW, 1 if kind is Launch else ENOUGH):
                yield _slow_rank(what, host, local, ratio)


def _sure(found: Sequence[Seen], threshold: float, enough: int) -> float:
    """The median ratio where it counts as slow, else 0."""
    ratio = median(each for each, _ in found)
    noise = DEVIATIONS * median(spread for _, spread in found)
    return ratio if len(found) >= enough and ratio >= threshold and ratio - 1 >= noise else 0.0


def _slow_rank(what: str, host: str, local: int, ratio: float) -> Diagnostic:
    message = (
        f"GPU {local} of `{host}` takes {ratio:.2f} times as long as its peers for {what} "
        f"(from {SLOW:g} on it counts)"
    )
    help = (
        "all ranks wait for it: look at its clocks, temperature and errors, or leave its node out"
    )
    return Diagnostic(SLOW_RANK, message, severity="warning", help=help)


def _against_peers(row: Row, machine: Machine) -> dict[Place, float]:
    """Each rank's time over the median of the others'."""
    found = {}
    for rank, seconds in enumerate(row.seconds):
        others = [each for other, each in enumerate(row.seconds) if other != rank and each]
        if seconds and others and rank < machine.ranks:
            place = (machine.hosts[rank], rank % machine.per_node)
            found[place] = seconds / median(others)
    return found


def _slow_links(probe: Probe) -> Iterator[Diagnostic]:
    """Small groups first: of a larger one that holds a slow one nothing new is said."""
    named: list[frozenset[Place]] = []
    for members, found in sorted(_exchanges(probe).items(), key=lambda each: len(each[0])):
        places = frozenset(members)
        ratio = _sure(found, SLOW_EXCHANGE, ENOUGH)
        if ratio and not any(known <= places for known in named):
            named.append(places)
            yield _slow_link(members, ratio)


def _exchanges(probe: Probe) -> dict[tuple[Place, ...], list[Seen]]:
    """Each group's times over the median of the other groups' of its shape."""
    seen: dict[tuple[Place, ...], list[Seen]] = {}
    for row, machine in probe.rows:
        if isinstance(row, Collective) and row.times:
            for members, ratio in _groups_against_peers(row, machine):
                seen.setdefault(members, []).append((ratio, row.spread))
    return seen


def _groups_against_peers(
    row: Collective, machine: Machine
) -> Iterator[tuple[tuple[Place, ...], float]]:
    groups = group_members(machine.ranks, row.size, row.stride)
    times = [_group_seconds(row, members) for members in groups]
    for number, (members, seconds) in enumerate(zip(groups, times, strict=True)):
        others = [each for other, each in enumerate(times) if other != number and each]
        if seconds and others:
            places = tuple((machine.hosts[rank], rank % machine.per_node) for rank in members)
            yield places, seconds / median(others)


def group_members(ranks: int, size: int, stride: int) -> list[list[int]]:
    """The groups of `size` ranks, `stride` apart, as the probe makes them."""
    span = size * stride
    return [
        list(range(start, start + span, stride))
        for first in range(0, ranks - span + 1, span)
        for start in range(first, first + stride)
    ]


def _group_seconds(row: Collective, members: Sequence[int]) -> float:
    times = [row.seconds[rank] for rank in members if rank < len(row.seconds)]
    return median([seconds for seconds in times if seconds] or [0.0])


def _slow_link(members: Sequence[Place], ratio: float) -> Diagnostic:
    shown = ", ".join(f"{local} of `{host}`" for host, local in members[:4])
    more = f" and {len(members) - 4} more" if len(members) > 4 else ""
    message = (
        f"GPUs {shown}{more} exchange {ratio:.2f} times as slowly as other groups of their shape "
        f"(from {SLOW_EXCHANGE:g} on it counts)"
    )
    help = "look at the links and ports between them: width, errors, another job on the network"
    return Diagnostic(SLOW_LINK, message, severity="warning", help=help)
