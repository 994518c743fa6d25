"""A script that starts hosts -> its facts, and those that a plan's script states."""

import re
from collections.abc import Iterator, Mapping

from ...compiler.plan import Plan
from ...reading.facts import Fact, Kind, LaunchConfig, Value
from .emit import grace_seconds
from .problems import settings

_SHAPE = re.compile(r"readonly NODES=(\d{1,9}) RESTARTS=(\d{1,9})$")
_GRACE = re.compile(r" {8}sleep (\d{1,9})(?: &)?$")


def read(files: Mapping[str, str]) -> LaunchConfig:
    """How many hosts, how often they are started again, and how long they may save."""
    found = [fact for path, text in files.items() for fact in _facts(path, text)]
    return LaunchConfig(Kind(scheduler="hosts"), tuple(found), ())


def facts(plan: Plan) -> dict[str, Value]:
    """Facts that `read(emit(plan, entry))` gives back."""
    restarts = settings(plan.job).restarts
    return {
        "nodes": plan.layout.nodes,
        "max_restarts": restarts,
        "signal": grace_seconds(plan),
    }


def _facts(path: str, text: str) -> Iterator[Fact]:
    for number, line in enumerate(text.splitlines(), 1):
        if shape := _SHAPE.match(line):
            yield Fact("nodes", int(shape[1]), path, number, shape.start(1) + 1)
            yield Fact("max_restarts", int(shape[2]), path, number, shape.start(2) + 1)
        elif grace := _GRACE.match(line):
            yield Fact("signal", int(grace[1]), path, number, grace.start(1) + 1)
