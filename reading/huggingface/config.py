"""The JSON object of a config.json -> its values by key, with transformers' defaults, and which were read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...dsl.diagnostics import Diagnostic, Source, Span, one_line
from .codes import BAD_VALUE

#: Layers that the language takes at most; lists are made of so many entries.
MOST_LAYERS = 10_000
#: Characters of a value that a message repeats.
_MOST_SHOWN = 60
#: What stands for a number that cannot be read, until all complaints are told.
_STAND_IN = 1


@dataclass(frozen=True)
class Unsaid:
    """Something of a model that the job's block does not say: `rotary_pct = 0.25`, its line, and what
    differs."""

    setting: str
    line: int | None
    why: str

    def __str__(self) -> str:
        place = "" if self.line is None else f" (line {self.line})"
        return one_line(f"{self.setting}{place}: {self.why}")


@dataclass
class Config:
    """One object of the file. `unsaid` and `faults` are shared with the objects in it; `prefix` names
    those."""

    source: Source
    values: Mapping[str, Any]
    defaults: Mapping[str, Any]
    start: int = 0
    prefix: str = ""
    unsaid: list[Unsaid] = field(default_factory=list)
    faults: list[Diagnostic] = field(default_factory=list)
    _read: set[str] = field(default_factory=set)
    _inner: dict[str, Config] = field(default_factory=dict)

    def get(self, *keys: str) -> Any:
        """The value of the first key that is there, else transformers' default of one; None for neither."""
        self._read.update(keys)
        given = [key for key in keys if key in self.values]
        table = self.values if given else self.defaults
        return next((table[key] for key in given or keys if key in table), None)

    def has(self, key: str) -> bool:
        """Whether the file gives a key a value."""
        return self.values.get(key) is not None

    def whole(self, *keys: str) -> int:
        """A whole number, 0 for null."""
        value = self.get(*keys)
        if value is None:
            return 0
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            return self._fault(keys[0], value, "a whole number")
        return value

    def size(self, *keys: str) -> int:
        """A whole number above zero."""
        value = self.whole(*keys)
        return value or self._fault(keys[0], self.get(*keys), "a whole number above 0")

    def layers(self, *keys: str) -> int:
        """The number of layers, `num_hidden_layers` unless a family has another key."""
        found = self.size(*(keys or ("num_hidden_layers",)))
        if found > MOST_LAYERS:
            return self._fault(
                (keys or ("num_hidden_layers",))[0], found, f"at most {MOST_LAYERS:,}"
            )
        return found

    def number(self, *keys: str) -> float:
        """A number, 0 for null."""
        value = self.get(*keys)
        if value is None:
            return 0.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e30:
            return float(self._fault(keys[0], value, "a number"))
        return float(value)

    def flag(self, *keys: str) -> bool:
        """A truth value, false for null."""
        value = self.get(*keys)
        if value is not None and not isinstance(value, bool):
            self._fault(keys[0], value, "true or false")
        return value is True

    def word(self, *keys: str) -> str:
        """A text, empty for null."""
        value = self.get(*keys)
        if value is not None and not isinstance(value, str):
            self._fault(keys[0], value, "a text")
        return value if isinstance(value, str) else ""

    def items(self, *keys: str) -> list[Any] | None:
        """A list, None for null."""
        value = self.get(*keys)
        if value is not None and not isinstance(value, list):
            self._fault(keys[0], value, "a list")
        return value if isinstance(value, list) else None

    def inside(self, *keys: str) -> Config | None:
        """The object that is the value of a key, None for null and for an empty one."""
        value = self.get(*keys)
        if value is not None and not isinstance(value, dict):
            self._fault(keys[0], value, "an object")
        if not isinstance(value, dict) or not value:
            return None
        key = next((each for each in keys if each in self.values), keys[0])
        if key not in self._inner:
            self._inner[key] = self._object(key, value)
        return self._inner[key]

    def _object(self, key: str, values: Mapping[str, Any]) -> Config:
        span = self.span(key)
        start = span.end if span else self.start
        prefix = f"{self.prefix}{key}."
        return Config(self.source, values, {}, start, prefix, self.unsaid, self.faults)

    def span(self, key: str) -> Span | None:
        """Where a key stands in the text."""
        found = re.compile(rf"{re.escape(json.dumps(key))}\s*:").search(
            self.source.text, self.start
        )
        if key not in self.values or found is None:
            return None
        return Span(self.source, found.start(), found.start() + len(key) + 2)

    def unsay(self, key: str, why: str) -> None:
        """Names a key, with its value, that the job does not say. `key` may name several with spaces."""
        first = key.split()[0]
        self._read.update(key.split())
        settings = ", ".join(
            f"{self.prefix}{each} = {shown(self.get(each))}"
            for each in key.split()
            if each in self.values or each in self.defaults
        )
        span = self.span(first)
        self.unsaid.append(Unsaid(settings or key, span.line if span else None, why))

    def differs(self, why: str) -> None:
        """Names what the family is and no key says."""
        self.unsaid.append(Unsaid(f"model_type = {shown(self.get('model_type'))}", None, why))

    def unread(self) -> Iterator[tuple[Config, str]]:
        """Keys of the file that were not asked for, with their objects, in the order of the text."""
        yield from ((self, key) for key in self.values if key not in self._read)
        for inner in self._inner.values():
            yield from inner.unread()

    def read(self, *keys: str) -> None:
        """Takes keys that say the same as others that were asked for."""
        self._read.update(keys)

    def _fault(self, key: str, value: object, wanted: str) -> int:
        message = f"`{self.prefix}{key}` is {shown(value)}, which is not {wanted}"
        if key not in self.values and value is None:
            message = f"`{self.prefix}{key}` is missing, and transformers have no default for it"
        help = "correct it, or take the file from the model's own page"
        fault = Diagnostic(BAD_VALUE, message, self.span(key), help=help)
        if fault not in self.faults:
            self.faults.append(fault)
        return _STAND_IN


def shown(value: object) -> str:
    """A value as JSON writes it, cut short."""
    text = json.dumps(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
