"""Options of each release of a framework, from its own parser or configuration classes.

The rows are in `released_options.csv` of each framework's folder, which `tests/acceptance/support/
released_options.py` writes from the framework's own code. Releases that parc reads and does not write for are
in tables of the same form, in `lint/releases/`.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
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


@dataclass(frozen=True)
class OptionTable:
    """Releases in their order, and every form of an option with the releases that have it so, which are read
    when they are first asked for.

    `versions`: release -> the version whose code was listed, as 0.15 -> 0.15.3. `rows`: lines of the table.
    """

    versions: Mapping[str, str]
    rows: tuple[str, ...]

    @cached_property
    def forms(self) -> tuple[tuple[ReleasedOption, frozenset[str]], ...]:
        order = list(self.versions)
        spanned = cache(lambda spans: frozenset(_spanned(order, spans)))
        forms = []
        for row in csv.DictReader(self.rows):
            having, choices = spanned(row.pop("releases")), tuple(row.pop("choices").split("|"))
            forms.append((ReleasedOption(**row, choices=choices if any(choices) else ()), having))
        return tuple(forms)

    @cached_property
    def by_name(self) -> Mapping[str, tuple[tuple[ReleasedOption, frozenset[str]], ...]]:
        found: dict[str, tuple[tuple[ReleasedOption, frozenset[str]], ...]] = {}
        for form in self.forms:
            found[form[0].name] = (*found.get(form[0].name, ()), form)
        return MappingProxyType(found)

    def options(self, release: str) -> Mapping[str, ReleasedOption]:
        """The options of one release by name."""
        having = (option for option, releases in self.forms if release in releases)
        return MappingProxyType({option.name: option for option in having})

    def releases_with(self, name: str) -> tuple[str, ...]:
        """The releases that have an option, oldest first."""
        having = {release for _, releases in self.by_name.get(name, ()) for release in releases}
        return tuple(release for release in self.versions if release in having)


def option_table(text: str) -> OptionTable:
    """The table in a file: its first line has the releases, `# 0.14=0.14.0 0.15=0.15.3 # how it was made`."""
    first, *lines = text.splitlines()
    versions = dict(word.split("=") for word in first.removeprefix("#").partition("#")[0].split())
    return OptionTable(MappingProxyType(versions), tuple(lines))


@cache
def framework_table(framework: str) -> OptionTable:
    """The releases of a framework that parc writes for."""
    path = files("parc.backends") / framework / "released_options.csv"
    return option_table(path.read_text(encoding="utf-8"))


def releases(framework: str) -> Mapping[str, str]:
    """Releases in their order, each with the version whose code was listed: `0.15` to `0.15.3`."""
    return framework_table(framework).versions


@cache
def released_options(framework: str, release: str) -> Mapping[str, ReleasedOption]:
    """The options of one release by name."""
    return framework_table(framework).options(release)


@cache
def releases_with(framework: str, name: str) -> tuple[str, ...]:
    """The releases that have an option, oldest first."""
    return framework_table(framework).releases_with(name)


def first_with(framework: str, name: str, word: str | None = None) -> str:
    """The oldest release that has an option, and takes the word as its value."""
    return next(
        release
        for release in releases_with(framework, name)
        if word is None or word in released_options(framework, release)[name].choices
    )


def _spanned(order: list[str], text: str) -> Iterator[str]:
    """The releases of `0.14-0.16 0.18`; the name of a fork may have a dash of its own."""
    for span in text.split():
        first, _, last = (span, "", "") if span in order else span.partition("-")
        yield from order[order.index(first) : order.index(last or first) + 1]
