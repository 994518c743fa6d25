"""What each release of a framework lets one set: the options of its own parser or configuration classes.

The rows are in `released_options.csv` of each framework's folder, which `tests/acceptance/support/
released_options.py` writes from the framework's own code.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType


@dataclass(frozen=True)
class ReleasedOption:
    """One option in one release.

    `name`: as it is written, `--seq-length` or `section.key`.
    `kind`: switch (an option without a value), bool, int, float, str, list, object, section (an object whose
    keys are checked), or the name of the function that reads the text; empty where any value is taken.
    `count`: of values, argparse's `nargs`: a number, `+`, `*` or `?`, empty for exactly one.
    `choices`: words that it takes; none where it takes others.
    `default`: what holds when it is not given, as one would write it; empty for none.
    `instead`: the option that replaces a deprecated one.
    """

    name: str
    kind: str
    count: str
    choices: tuple[str, ...]
    default: str
    instead: str


@cache
def releases(framework: str) -> Mapping[str, str]:
    """Releases in their order, each with the version whose code was listed: `0.15` to `0.15.3`."""
    words = _lines(framework)[0].removeprefix("#").split()
    return MappingProxyType(dict(word.split("=") for word in words))


@cache
def released_options(framework: str, release: str) -> Mapping[str, ReleasedOption]:
    """The options of one release by name."""
    return MappingProxyType(
        {option.name: option for option, having in _listed(framework) if release in having}
    )


@cache
def _listed(framework: str) -> list[tuple[ReleasedOption, frozenset[str]]]:
    """Every option as some releases have it, and these."""
    spanned = cache(lambda text: frozenset(_spanned(framework, text)))
    found = []
    for row in csv.DictReader(_lines(framework)[1:]):
        having, choices = spanned(row.pop("releases")), tuple(row.pop("choices").split("|"))
        found.append((ReleasedOption(**row, choices=choices if any(choices) else ()), having))
    return found


@cache
def releases_with(framework: str, name: str) -> tuple[str, ...]:
    """The releases that have an option, oldest first."""
    return tuple(each for each in releases(framework) if name in released_options(framework, each))


def first_with(framework: str, name: str, word: str | None = None) -> str:
    """The oldest release that has an option, and takes the word as its value."""
    return next(
        release
        for release in releases_with(framework, name)
        if word is None or word in released_options(framework, release)[name].choices
    )


def _spanned(framework: str, text: str) -> Iterator[str]:
    """The releases of `0.14-0.16 0.18`."""
    order = list(releases(framework))
    for span in text.split():
        first, _, last = span.partition("-")
        yield from order[order.index(first) : order.index(last or first) + 1]


@cache
def _lines(framework: str) -> list[str]:
    folder = files("parc.backends") / framework
    return (folder / "released_options.csv").read_text(encoding="utf-8").splitlines()
