"""Keys and values of `extra` that nobody chose: names of options, near-misses and noise, with values of every
kind; and what the framework's own parser says of what parc lets pass."""

from __future__ import annotations

import json
import random
import string
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parc.backends.extra import Value
from parc.backends.released_options import ReleasedOption, released_options
from tests.acceptance.support.environments import environment
from tests.acceptance.support.probe_runs import PROBES

WORDS = (
    "",
    "a b",
    "0",
    "1 2",
    "-1",
    "--lr",
    "-x",
    "true",
    "None",
    "1e-3",
    "(1,2)",
    "[0]*3",
    "ä",
    "'",
    '"',
    "$HOME",
)


def drawn(framework: str, release: str, count: int, seed: int) -> list[tuple[str, Value]]:
    """Pairs of a key and a value, most of them an option's name, spelled in either way."""
    draws = random.Random(seed)
    options = list(released_options(framework, release).values())
    return [_pair(draws, draws.choice(options)) for _ in range(count)]


def _pair(draws: random.Random, option: ReleasedOption) -> tuple[str, Value]:
    name = option.name.removeprefix("--")
    if draws.random() < 0.3:
        name = name.replace("-", "_")
    if draws.random() < 0.1:
        place = draws.randrange(len(name) + 1)
        name = name[:place] + draws.choice(string.ascii_letters + "._- 0") + name[place:]
    return name, _value(draws, option)


def _value(draws: random.Random, option: ReleasedOption) -> Value:
    usual = [*option.choices, option.default] if draws.random() < 0.5 else []
    noise: list[Value] = [
        *WORDS, True, False, draws.randint(-5, 10**draws.randint(0, 12)),
        draws.uniform(-1, 1) * 10.0 ** draws.randint(-8, 8), float(draws.randint(0, 9)),
        "".join(draws.choices(string.printable, k=draws.randint(1, 6))),
    ]  # fmt: skip
    return draws.choice([each for each in usual if each] or noise)


def complaints(name: str, cases: Sequence[Any], folder: Path) -> list[str]:
    """What the parser of the framework in an environment says of each, in their order; empty where it takes
    it."""
    given, out = folder / "cases.json", folder / "complaints.json"
    given.write_text(json.dumps(cases))
    made, framework = environment(name), name.partition("-")[0]
    command = [str(made.python), str(PROBES / f"{framework}_extra_probe.py"), str(given), str(out)]
    done = subprocess.run(command, env=made.variables(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[str] = json.loads(out.read_text())
    return found
