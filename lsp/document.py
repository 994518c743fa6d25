"""The text of a job file, as an editor holds it -> its syntax tree and its names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..backends import LAUNCHERS, OPTIONS, TARGETS
from ..dsl.diagnostics import Source
from ..dsl.evaluation.imports import Loader
from ..dsl.evaluation.scope import Scope
from ..dsl.report import Report
from ..dsl.schema import CLASSES, LAUNCHES, SettingType, setting_types
from ..dsl.syntax.sources import reading_once
from ..dsl.syntax.tree import File

#: Texts and comments, whose braces are none, and braces.
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"?|#[^\n]*|[{}]')


@dataclass(frozen=True)
class Document:
    """A text that may not be saved yet; `path` is where its imports are looked for.

    `unsaved` holds the texts of files by their real paths, as the editor has them.
    """

    path: str
    text: str
    unsaved: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _read(self) -> tuple[File, Scope]:
        missing = len(open_braces(self.text))
        source = Source(self.path, self.text + "\n" + "}" * missing if missing else self.text)
        with reading_once(self.unsaved):
            return Loader(Report()).scope(source, self.text.encode(errors="replace"), self.path)

    @property
    def file(self) -> File:
        """The statements that could be read, with a block that is still being typed."""
        return self._read[0]

    @property
    def scope(self) -> Scope:
        """The names of the file and of its imports."""
        return self._read[1]


def open_braces(text: str) -> list[int]:
    """Where the braces are that a text opens and does not close, outermost first."""
    opened: list[int] = []
    for match in _TOKEN.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif match[0] == "}" and opened:
            opened.pop()
    return opened


def settings_of(kind: str, name: str | None) -> dict[str, SettingType]:
    """The settings that a block may hold; none for one that is unknown."""
    named = {"target": OPTIONS, "launch": LAUNCHES}.get(kind)
    of = CLASSES.get(kind) if named is None else named.get(name or "")
    return setting_types(of) if of else {}


def named_kinds(kind: str) -> tuple[str, ...]:
    """The names that a block of a kind must choose from; none where the name is free."""
    return {"target": tuple(TARGETS), "launch": tuple(LAUNCHERS)}.get(kind, ())
