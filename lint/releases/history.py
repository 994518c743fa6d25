"""A framework -> what each of its releases accepts: those that parc writes for, and those before them.

`python -m benchmarks.lint.listing` writes the tables of this folder, from the frameworks' own code.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from ...backends import BACKENDS
from ...backends.released_options import (
    OptionTable,
    ReleasedOption,
    framework_table,
    option_table,
)


@dataclass(frozen=True)
class History:
    """The releases of a framework, in `tables` that follow one another in time."""

    framework: str
    tables: tuple[OptionTable, ...]

    @cached_property
    def releases(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(release for table in self.tables for release in table.versions)

    @property
    def newest(self) -> str:
        return self.releases[-1]

    @property
    def forms(self) -> Iterator[ReleasedOption]:
        """Every option as some release has it."""
        return (option for table in self.tables for option, _ in table.forms)

    def forms_of(self, name: str) -> tuple[ReleasedOption, ...]:
        """The forms of one option, by the last release that has each, oldest first."""
        found = [form for table in self.tables for form in table.by_name.get(name, ())]
        found.sort(key=lambda form: max(self.releases.index(release) for release in form[1]))
        return tuple(option for option, _ in found)

    def __contains__(self, name: str) -> bool:
        return any(name in table.by_name for table in self.tables)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(name for table in self.tables for name in table.by_name)

    def releases_with(self, name: str) -> tuple[str, ...]:
        """The releases that have an option, oldest first."""
        return tuple(release for table in self.tables for release in table.releases_with(name))

    def at(self, release: str) -> Mapping[str, ReleasedOption]:
        """The options of one release by name."""
        return next(table.options(release) for table in self.tables if release in table.versions)

    def option(self, name: str, release: str) -> ReleasedOption | None:
        """An option as a release has it."""
        found = (form for table in self.tables for form in table.by_name.get(name, ()))
        return next((option for option, having in found if release in having), None)

    def release_of(self, version: str) -> str | None:
        """The release that a version is one of: 0.14.0 of 0.14, 0.2 the last of 0.2.0 to 0.2.2. One newer
        than the tables, of the same major version, counts as the newest; None for another one.
        """
        parts = version.split(".")
        starts = [".".join(parts[:size]) for size in range(len(parts), 0, -1)]
        found = next((start for start in starts if start in self.releases), None)
        within = [each for each in self.releases if each.startswith(f"{version}.")]
        now, asked = numbers(self.newest), numbers(version)
        later = [self.newest] if asked > now and asked[0] == now[0] else []
        return next(iter([*([found] if found else []), *within[-1:], *later]), None)

    def after(self, release: str) -> str:
        """The release that follows one that is not the newest."""
        return self.releases[self.releases.index(release) + 1]

    def earlier(self, release: str, other: str) -> bool:
        """Whether a release comes before another one, both as the tables name them."""
        return self.releases.index(release) < self.releases.index(other)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part[:18]) for part in re.findall(r"\d+", version)[:3])


@cache
def history(framework: str) -> History:
    """Releases of a framework by this folder's table; for one that parc writes for, newer ones by the table
    of `backends/`."""
    text = (files("parc.lint.releases") / f"{framework}.csv").read_text(encoding="utf-8")
    newer = (framework_table(framework),) if framework in BACKENDS else ()
    return History(framework, (option_table(text), *newer))
