"""A path that a launched command names -> that file: given, below a folder, or written by the script."""

from collections.abc import Mapping
from dataclasses import dataclass

from .bash.script import Folder, locate
from .bash.shell import text_key
from .bash.source import PlacedText, file_source, text_source
from .bash.values import Text, Word
from .facts import Unread
from .launchers import Started


@dataclass(frozen=True)
class NamedFile:
    """A file that a command names; `text` is None where the script itself writes it."""

    source: PlacedText
    path: str
    text: str | None


def missing(what: str, named: Word) -> Unread:
    """Reports a file that is not there, at the word that names it."""
    reason = f"the {what} is not here to be read"
    return Unread(reason, named.path, named.line, named.column, missing=True)


def named_file(
    launch: Started, path: Text, texts: Mapping[str, str], folder: Folder
) -> NamedFile | None:
    """The file at a path as the launched command resolves it, None where it is not found."""
    written = launch.launch.files.get(text_key(path))
    script = launch.launch.scripts[-1]
    if written is not None:
        return NamedFile(text_source(written, script), script, None)
    found = locate(path, script, launch.launch.cwd, texts, folder)
    if found is None:
        return None
    return NamedFile(file_source(*found), *found)
