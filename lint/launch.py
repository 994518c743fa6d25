"""One job's `LaunchConfig` as rules read it: facts, options by name, texts, and places in them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..backends.backend import Fact, LaunchConfig, Setting, Unknown, Value
from ..dsl.diagnostics import Source, Span
from ..dsl.job import Cluster, Job
from .finding import At, Place

_WORD = re.compile(r"[^\s\"'`;,)(]+")


@dataclass(frozen=True)
class Launch:
    """`versions` says for which release of a framework to judge, `job` and `cluster` what was asked for."""

    config: LaunchConfig
    job: Job | None = None
    cluster: Cluster | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def framework(self) -> str | None:
        return self.config.framework

    @property
    def kind(self) -> str:
        return self.config.kind

    @property
    def megatron(self) -> bool:
        """Megatron-LM itself, not its DeepSpeed fork."""
        return self.framework == "megatron" and "deepspeed" not in self.kind

    @property
    def trains(self) -> bool:
        """Whether the options are those of training, and not of inference or conversion."""
        return self.given("--train-iters", "--train-samples", "--lr")

    @property
    def path(self) -> str:
        return next(iter(self.config.texts), "")

    @cached_property
    def facts(self) -> dict[str, Fact]:
        found: dict[str, Fact] = {}
        for fact in self.config.facts:
            found.setdefault(fact.name, fact)
        return found

    def value(self, name: str) -> Value | None:
        """A fact's value when it is known."""
        fact = self.facts.get(name)
        return None if fact is None or isinstance(fact.value, Unknown) else fact.value

    def number(self, name: str) -> int | None:
        value = self.value(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def unknown(self, name: str) -> bool:
        fact = self.facts.get(name)
        return fact is not None and isinstance(fact.value, Unknown)

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[Setting]]:
        found: dict[tuple[str, str], list[Setting]] = {}
        for setting in self.config.settings:
            found.setdefault((setting.scope, _spelling(setting)), []).append(setting)
        return found

    def all(self, scope: str, name: str | None = None) -> list[Setting]:
        """Settings of a scope, or those of one name, in the order of the files."""
        if name is not None:
            return self._by_name.get((scope, name), [])
        return [setting for setting in self.config.settings if setting.scope == scope]

    def setting(self, scope: str, *names: str) -> Setting | None:
        """The setting of the first of these names that is there; the last one given counts."""
        return next((found[-1] for name in names if (found := self.all(scope, name))), None)

    def option(self, *names: str) -> Setting | None:
        """An option of the training program."""
        return self.setting("argument", *names)

    def given(self, *names: str) -> bool:
        return self.option(*names) is not None

    def key(self, name: str) -> Setting | None:
        """A key of a DeepSpeed config, such as `zero_optimization.stage`."""
        return self.setting("json", name)

    def lines(self) -> Iterator[tuple[str, int, str]]:
        """Path, number and text of every line of the shell scripts."""
        for path, text in self.config.texts.items():
            if is_script(path, text):
                for number, line in enumerate(text.split("\n"), 1):
                    yield path, number, line.rstrip("\r")

    @cached_property
    def _sources(self) -> dict[str, tuple[Source, list[int]]]:
        return {
            path: (Source(path, text), _line_starts(text))
            for path, text in self.config.texts.items()
        }

    def span(self, at: At) -> Span | None:
        """Where a fact, a setting or a place stands; None in a file whose text is not at hand."""
        if isinstance(at, Span):
            return at
        if at.path not in self._sources:
            return None
        source, starts = self._sources[at.path]
        line = min(max(at.line, 1), len(starts))
        start = min(starts[line - 1] + at.column - 1, len(source.text))
        return Span(source, start, start + self._length(at, source.text, start))

    def _length(self, at: Fact | Setting | Place, text: str, start: int) -> int:
        if isinstance(at, Fact):
            word = _WORD.match(text, start)
            return len(word[0]) if word else 1
        return max(at.length, 1)

    def place(self, path: str, start: int, length: int) -> Place:
        """The place of an offset into a file's text."""
        starts = self._sources[path][1]
        line = bisect_right(starts, start)
        return Place(path, line, start - starts[line - 1] + 1, length)


def texts_of(setting: Setting | None) -> tuple[str, ...]:
    """The known values of a setting as texts; none when it is not given."""
    values = () if setting is None else setting.values
    return tuple(str(value) for value in values if not isinstance(value, Unknown))


def text_of(setting: Setting | None) -> str | None:
    """A setting's one known value as text."""
    if setting is None or not setting.values or isinstance(setting.values[0], Unknown):
        return None
    return str(setting.values[0])


def number_of(setting: Setting | None) -> int | None:
    text = text_of(setting)
    plain = (text or "").replace("_", "")
    return int(plain) if re.fullmatch(r"[+-]?\d{1,18}", plain, re.ASCII) else None


def is_script(path: str, text: str) -> bool:
    """Whether a file is read by a shell, and not a config or a Python program."""
    return not path.endswith((".json", ".toml", ".py", ".yaml", ".yml"))


def _spelling(setting: Setting) -> str:
    """Launchers take `_` for `-` in their options, and so do Megatron-LM's forks."""
    if setting.scope in ("argument", "launcher", "sbatch"):
        return dashed(setting.name)
    return setting.name


def dashed(name: str) -> str:
    return name.replace("_", "-") if name.startswith("--") else name


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]
