"""Commands that start toy_train.py, and what it prints -> facts, blocks of a job, and the pace of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from parc.backends.described import counts
from parc.backends.log import Pace, RunLog
from parc.backends.reader import Reader, Values
from parc.reading.bash.script import Folder
from parc.reading.facts import Fact, Kind, LaunchConfig, Unknown, Value
from parc.reading.launchers import Started
from tests.support.toy_backend.emit import STATED

STEP = re.compile(r"toy step (\d+) loss ([\d.]+|nan)")
SECONDS = re.compile(STEP.pattern + r" in ([\d.]+) s")
#: What the toy does not have stands at its neutral value.
NEUTRAL: dict[str, Value] = {
    "pp": 1, "vpp": 1, "cp": 1, "ep": 1, "zero": 0, "recompute": "none",
}  # fmt: skip


def recognise(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig | None:
    if launch.entry is None or not launch.entry.tail.endswith("toy_train.py"):
        return None
    settings = tuple(launch.options().settings("argument"))
    return LaunchConfig(Kind("toy", carrier="bash"), tuple(_facts(launch)), (), settings, "toy")


def _facts(launch: Started) -> Iterator[Fact]:
    given = launch.options()
    found: dict[str, Value | Unknown] = {}
    for name in STATED:
        option = f"--toy-{name.replace('_', '-')}"
        value = given.text(option) if name == "precision" else given.number(option)
        if value is not None:
            found[name] = value
            place = given.place(option)
            yield Fact(name, value, place.path, place.line, place.column)
    nodes, each = found.get("nodes"), found.get("gpus_per_node")
    command = given.command
    if isinstance(nodes, int) and isinstance(each, int):
        yield Fact("gpus", nodes * each, command.path, command.line, command.column)
    for name, neutral in NEUTRAL.items():
        yield Fact(name, neutral, command.path, command.line, command.column)


def model(config: LaunchConfig) -> Values:
    return counts(config, {name: ("argument", f"--toy-{name}") for name in ("ffn", "vocab")})


def train(config: LaunchConfig) -> Values:
    return counts(config, {"steps": ("argument", "--toy-steps")})


def log(text: str) -> RunLog | None:
    paces = tuple(Pace(int(found[1]), float(found[3])) for found in SECONDS.finditer(text))
    return RunLog("toy", "seconds", paces) if paces else None


READER = Reader(
    recognise=recognise, log=log, telling=r"\btoy_train\.py\b", model=model, train=train
)
