"""What a framework's reader makes of a launched command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .bash.script import locate
from .bash.shell import text_key
from .bash.source import Source, file_source, text_source
from .bash.values import Text
from .facts import Fact, Setting, Unread
from .launchers import Started

#: Gives the text of a file that a script names (`source x.sh`), or None when there is none.
Folder = Callable[[str], str | None]


@dataclass(frozen=True)
class Job:
    """`kind` is that of the files, without the launcher of the nodes; `texts` are the files named."""

    kind: str
    framework: str | None
    facts: tuple[Fact, ...]
    settings: tuple[Setting, ...] = ()
    unread: tuple[Unread, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Linked:
    """A file that a command names; `text` is None where the script itself writes it."""

    source: Source
    path: str
    text: str | None


def linked(launch: Started, path: Text, texts: Mapping[str, str], folder: Folder) -> Linked | None:
    """The file at a path as the launched command resolves it, None where it is not found."""
    written = launch.launch.files.get(text_key(path))
    script = launch.launch.scripts[-1]
    if written is not None:
        return Linked(text_source(written, script), script, None)
    found = locate(path, script, launch.launch.cwd, texts, folder)
    if found is None:
        return None
    return Linked(file_source(*found), *found)
