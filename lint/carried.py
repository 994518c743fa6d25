"""A launched job and one of its settings -> whether the job of the language says what the setting does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

from ..backends import BACKENDS
from ..reading.facts import Fact, LaunchConfig, Setting, Unknown, Value, dashed, whole
from .facts.job_blocks import (
    EXPERT_DEGREES,
    described_layout,
    described_model,
    described_train,
)
from .facts.launched_job import LaunchedJob

#: Facts that the `cluster` block says.
_CLUSTER = ("nodes", "gpus_per_node", "gpus")
#: Words of switches, and what turns them around.
_SWITCHED = {"true": "false", "false": "true", "True": "False", "False": "True"}
_Said = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


class Recorded(LaunchConfig):
    """Launch files that remember which settings their readers ask for."""

    @cached_property
    def asked(self) -> set[tuple[str, str]]:
        return set()

    def all(self, scope: str, name: str | None = None) -> list[Setting]:
        self.asked.add((scope, name or ""))
        return super().all(scope, name)


class Carried:
    """The settings of a launched job that the job written of it says: where a fact that it says stands in the
    same place, or where the job would be another one with another value."""

    def __init__(self, launch: LaunchedJob) -> None:
        self._launch = launch
        values = {field.name: getattr(launch.config, field.name) for field in fields(LaunchConfig)}
        recorded = Recorded(**values)
        self._said = _said(replace(launch, config=recorded))
        self._asked = recorded.asked
        facts = _facts(launch, self._said)
        self._repeated: set[tuple[str, tuple[Value | Unknown, ...]]] = set()
        self._places = {(fact.path, fact.line, fact.column) for fact in facts}
        self._repeated = {(_leaf(each), each.values) for each in _by_leaf(launch) if each in self}

    def __contains__(self, setting: Setting) -> bool:
        own = (setting.path, setting.line, setting.column)
        if (setting.value_at or own) in self._places or own in self._places:
            return True
        if (_leaf(setting), setting.values) in self._repeated:
            return True
        name = dashed(setting.name) if setting.scope == "argument" else setting.name
        if not {(setting.scope, name), (setting.scope, "")} & self._asked:
            return False
        return any(self._differs(setting, other) for other in _others(setting))

    def _differs(self, setting: Setting, other: Setting | None) -> bool:
        told = (other if each is setting else each for each in self._launch.config.settings)
        changed = tuple(each for each in told if each is not None)
        config = replace(self._launch.config, settings=changed)
        return _said(replace(self._launch, config=config)) != self._said


def _by_leaf(launch: LaunchedJob) -> Iterator[Setting]:
    """Keys of files that are no program's own: the last part of a name counts there, wherever it stands."""
    if launch.framework is None and launch.program is None:
        yield from (each for scope in ("yaml", "python") for each in launch.config.all(scope))


def _leaf(setting: Setting) -> str:
    return setting.name.rpartition(".")[2]


def _said(launch: LaunchedJob) -> _Said:
    """Settings of the blocks `model`, `train` and `target` of the job."""
    backend = BACKENDS.get(launch.framework or "")
    options = backend.reader.options(launch.config) if backend else {}
    return described_model(launch), described_train(launch), options


def _facts(launch: LaunchedJob, said: _Said) -> Iterator[Fact]:
    """Facts whose values the job says."""
    model, train, _ = said
    layout = described_layout(launch)
    mesh = launch.program.mesh if launch.program else ()
    names = {*model, *train, *layout, *_CLUSTER, *mesh}
    if "cp" in layout:
        names.add("ulysses")
    if {"global_batch"} <= train.keys() and {"micro_batch"} <= layout.keys():
        names.add("microbatches")
    if launch.number("gpus"):
        names |= {"dp", "dp_shard", "dp_replicate"}
    for fact in launch.facts.values():
        one = fact.name in EXPERT_DEGREES and fact.value == 1
        if one or (fact.name in names and not isinstance(fact.value, Unknown)):
            yield fact


def _others(setting: Setting) -> Iterator[Setting | None]:
    """The setting with each of its values in turn replaced by another; None for a switch, left out."""
    if not setting.values:
        yield None
    for index, value in enumerate(setting.values):
        for other in _other(value):
            values = (*setting.values[:index], other, *setting.values[index + 1 :])
            yield replace(setting, values=values)


def _other(value: Value | Unknown) -> Iterator[Value]:
    match value:
        case Unknown():
            return
        case bool():
            yield not value
        case int():
            yield from (value + 1, 2 * value)
        case float():
            yield 2 * value + 1 if math.isfinite(value) else 1.0
        case str() if value in _SWITCHED:
            yield _SWITCHED[value]
        case str() if (number := whole(value)) is not None:
            yield from (str(number + 1), str(2 * number))
        case str():
            yield from _other_text(value)


def _other_text(text: str) -> Iterator[str]:
    try:
        value = float(text)
    except ValueError:
        yield from (f"{text}x", f"1{text}")
        return
    yield f"{2 * value + 0.001:g}" if math.isfinite(value) else "1.0"
