"""Which release of a framework or which fork a job is for: named, pinned in its files, dated by options."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...backends import BACKENDS
from ...backends.dated import Dated, installed
from ...backends.released_options import ReleasedOption
from ...dsl.diagnostics import Severity
from ...reading.facts import LaunchConfig, Unknown, dashed
from ...reading.pins import Pins
from ..releases.forks import fork_table, forks_by_place
from ..releases.history import History, history

#: Not a framework that parc writes for; programs of several are started with its options.
TRANSFORMERS = "transformers"
_BESIDE = {
    TRANSFORMERS: Dated(
        "Transformers", "argument", "transformers", re.compile(installed("transformers"))
    )
}
_COMMENT = re.compile(r"^[ \t]*#.*$", re.M)


@dataclass(frozen=True)
class Release:
    """The release that a job is for, as far as it is known.

    `version`: as the user or the files name it, None where nobody does. `fork`: of Megatron-LM, given by the
    user. `config`: the job. `pins`: what its repository installs.
    """

    dated: Dated
    history: History
    config: LaunchConfig
    version: str | None = None
    fork: str | None = None
    pins: Pins | None = None

    @property
    def title(self) -> str:
        return self.dated.title

    @property
    def known(self) -> bool:
        """Whether somebody says which release or fork it is: what it does not accept is then an error."""
        return self.release is not None or self.fork is not None

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The framework's options that the job uses, each once."""
        names = (self.spelt(setting.name) for setting in self.config.all(self.dated.scope))
        return tuple(dict.fromkeys(name for name in names if name in self.history))

    def spelt(self, name: str) -> str:
        """An option as the releases write it; forks take `_` for `-`."""
        return name if name in self.history else dashed(name)

    @cached_property
    def release(self) -> str | None:
        """The release of the table that the version is one of."""
        return None if self.version is None else self.history.release_of(self.version)

    @cached_property
    def possible(self) -> tuple[str, ...]:
        """The releases that the job may be for: those that have all of its options, oldest first. None where
        no release has them all, as in a fork that took over single options of later releases."""
        if self.release is not None:
            return (self.release,)
        having = [set(self.taking(name)) for name in self.used]
        return tuple(each for each in self.installed if all(each in one for one in having))

    @property
    def installed(self) -> tuple[str, ...]:
        """The releases that the repository's requirements allow; all of them where it has none."""
        versions = {
            name: version
            for table in self.history.tables
            for name, version in table.versions.items()
        }
        if self.version is None and self.pins is not None:
            return tuple(name for name in self.history.releases if self.pins.allow(versions[name]))
        return self.history.releases

    @property
    def judged(self) -> str | None:
        """The release by which options are judged: the one that is known, else the newest that may be
        installed; None where that is in no table."""
        if self.version is not None:
            return self.release
        return next(reversed(self.installed), None)

    def taking(self, name: str) -> tuple[str, ...]:
        """The releases that take an option, and do not only parse it to refuse it; oldest first."""
        found, refusing = self.history.releases_with(name), self.dated.refused.get(name)
        if refusing not in self.history.releases:
            return found
        return tuple(each for each in found if self.history.earlier(each, refusing))

    @cached_property
    def forks(self) -> tuple[str, ...]:
        """The forks that it may be: the one that is named; those with most of the options and values that no
        release has; else those whose places its files name."""
        if self.fork is not None:
            return (self.fork,)
        if not self.dated.forked:
            return ()
        counts = dict.fromkeys(fork_table().versions, 0)
        for name in self.marks:
            for fork in fork_table().releases_with(name):
                counts[fork] += 1
        most, places = max(counts.values()), forks_by_place(self.config.texts.values())
        found = tuple(fork for fork, count in counts.items() if most and count == most)
        return tuple(fork for fork in found if fork in places) or found or places

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Options of forks that the job uses, and options with a value that forks alone take."""
        table, found = fork_table().by_name, []
        for setting in self.config.all("argument"):
            name = setting.name if setting.name in table else dashed(setting.name)
            own = {word for option, _ in table.get(name, ()) for word in option.choices}
            upstream = self.words(name)
            words = {str(value) for value in setting.values if not isinstance(value, Unknown)}
            if name in table and (name not in self.history or words & (own - upstream)):
                found.append(name)
        return tuple(dict.fromkeys(found))

    def words(self, name: str) -> set[str]:
        """Every word that some release takes for an option."""
        return {word for each in self.history.forms_of(name) for word in each.choices}

    @property
    def upstream(self) -> bool:
        """Whether nothing speaks against a release of the framework's own."""
        return not self.forks and bool(self.possible)

    def severity(self, otherwise: Severity = "info") -> Severity:
        """Level of a complaint on some releases and forks: an error where it is known which one runs."""
        return "error" if self.known else otherwise

    def before(self, release: str) -> bool:
        """Whether every release that it may be comes before another one."""
        return bool(self.possible) and self.history.earlier(self.possible[-1], release)

    def forms(self, name: str) -> tuple[ReleasedOption, ...]:
        """An option as the known release has it, or the fork and any release, or every one; oldest first."""
        table = fork_table().by_name if self.dated.forked else {}
        own = tuple(
            option
            for option, forks in table.get(name, ())
            if self.fork is None or self.fork in forks
        )
        if self.release is None or self.fork is not None:
            return own + self.history.forms_of(name)
        option = self.history.option(name, self.release)
        return () if option is None else (option,)

    def since(self, release: str) -> bool:
        """Whether the job is for the framework itself, and for no release before this one."""
        return self.upstream and not self.history.earlier(self.possible[0], release)

    def takes(self, name: str) -> bool:
        """Whether the known release takes an option; of a fork, whether it or any release does."""
        if self.fork is not None:
            return name in self.history or self.fork in fork_table().releases_with(name)
        return any(each in self.possible for each in self.taking(name))

    @property
    def said(self) -> str:
        """`Megatron-LM 0.12 to 0.13`: what the job is judged for."""
        if self.fork is not None:
            return f"{self.title}'s fork {self.fork}"
        if self.release is not None:
            return f"{self.title} {self.version}"
        if not self.possible:
            return f"{self.title}, no release of which has all of its options"
        first, last = self.possible[0], self.possible[-1]
        return f"{self.title} {spoken(first)}" + (f" to {spoken(last)}" if first != last else "")

    @property
    def newest(self) -> str:
        """The release that findings name: the one that is known, else the newest of all."""
        judged = self.judged or self.history.newest
        newest = next(
            table.versions[judged] for table in self.history.tables if judged in table.versions
        )
        return f"{self.title} {self.version if self.known else newest}"

    @property
    def assumed(self) -> str:
        """`said`, and why."""
        if self.known:
            return f"judged for {self.said}"
        if self.marks and self.forks:
            return f"taken for a fork of {self.title} such as {self.forks[0]} by {', '.join(self.marks[:2])}"
        if self.forks:
            return f"taken for {self.title}'s fork {self.forks[0]}, which is named there"
        return f"taken for {self.said}{self._reasons}"

    @property
    def _reasons(self) -> str:
        """The options that no earlier, or no later release has."""
        if not self.possible:
            return ""
        ends = {self.history.releases[0]: 0, self.history.newest: -1}
        found = [
            name
            for end in (0, -1)
            if ends.get(self.possible[end]) != end
            for name in self.used
            if self.taking(name)[end] == self.possible[end]
        ]
        shown = list(dict.fromkeys(found))[:2]
        return f" by {', '.join(shown)}" if shown else ""


def spoken(release: str) -> str:
    """A release as people call it; between 2021 and 2023 Megatron-LM had none, and its code is named by the
    month."""
    month = re.fullmatch(r"(2[0-9])\.(\d\d)", release)
    return f"of 20{month[1]}-{month[2]}" if month else release


def datable() -> tuple[str, ...]:
    """The frameworks of which a release may be named."""
    return (*BACKENDS, *_BESIDE)


def dated(framework: str | None) -> Dated | None:
    """How a framework's files tell its release; None where no table says what each release accepts."""
    if framework is not None and framework in BACKENDS:
        return BACKENDS[framework].reader.dated
    return _BESIDE.get(framework or "")


def release_of(
    framework: str,
    config: LaunchConfig,
    versions: Mapping[str, str],
    fork: str | None,
    pins: Callable[[str], Pins | None] = lambda package: None,
) -> Release:
    """`versions`: framework -> the release that the user names. What the job's files install comes after it,
    and then what their repository pins of a package."""
    telling = dated(framework)
    if telling is None:
        raise KeyError(framework)
    named = versions.get(framework) or pinned(telling.pinned, config.texts.values())
    around = None if named else pins(telling.package)
    named = named or (around.exact if around else None)
    own = fork if telling.forked else None
    return Release(telling, history(framework), config, named, own, around)


def pinned(pattern: re.Pattern[str], texts: Iterable[str]) -> str | None:
    """The one release that the files install or check out, comments aside; None for none or several."""
    found = frozenset[str]().union(*(_pins(pattern, text) for text in texts))
    return next(iter(found)) if len(found) == 1 else None


@lru_cache(maxsize=256)
def _pins(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    """The releases that one file pins; the jobs of a file, and their rules, ask again and again."""
    code = _COMMENT.sub("", text)
    return frozenset(next(filter(None, match.groups())) for match in pattern.finditer(code))
