"""A text of manifests -> for each command of a container what it launches, followed as in a script."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..bash.commands.launching import SHELLS
from ..bash.script import MOST_FOLDERS, Folder, Script, no_folder, read_command
from ..bash.trace import program
from ..bash.values import Piece, Text, Word, shifted, word
from ..facts import Unknown, Unread
from .manifest import Container, Pods, pods_of
from .pod_environment import operators

#: `$(NAME)`, which Kubernetes replaces by a variable of the container.
_OWN = re.compile(r"(?<!\$)\$\(([A-Za-z_]\w*)\)")
#: `$NAME` and `${NAME}`, which nothing but envsubst and its like replace where no shell reads the words.
_GIVEN = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
#: Commands of a text that are followed, each as a script.
MOST_COMMANDS = 40
_IMAGE = Unknown("the image or the cluster may set it")


@dataclass(frozen=True)
class PodCommand:
    """One command with the pods that run it."""

    pods: Pods
    script: Script


def read_manifest(
    path: str,
    text: str,
    *,
    environment: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
    folder: Folder = no_folder,
) -> list[PodCommand]:
    """Each command that the pods run, those of master and workers once. Raises `ValueError`."""
    return commands_of(path, pods_of(path, text), environment or {}, texts or {}, folder)


def commands_of(
    path: str,
    groups: Iterable[Pods],
    given: Mapping[str, str],
    texts: Mapping[str, str],
    folder: Folder,
) -> list[PodCommand]:
    """Each command of these groups of pods once."""
    found: dict[tuple[str | Unknown, ...], PodCommand] = {}
    for pods in groups:
        for container in pods.containers:
            variables = {
                name: _plain(value, given) for name, value in container.environment.items()
            }
            variables = {**operators(pods), **variables}
            words = tuple(_words(_at_hand(container, texts), variables, given))
            key = tuple(each.text for each in words)
            if words and key not in found:
                if len(found) == MOST_COMMANDS:
                    return [_cut(path, found.pop(next(iter(found)))), *found.values()]
                script = read_command(
                    path, words, variables, outside=_IMAGE, texts=texts, folder=folder
                )
                found[key] = PodCommand(pods, _of_image(script))
    return list(found.values())


def _cut(path: str, command: PodCommand) -> PodCommand:
    reason = f"only its first {MOST_COMMANDS} commands are followed"
    unread = (*command.script.unread, Unread(reason, path, 1, over_limit=True, rest=True))
    return replace(command, script=replace(command.script, unread=unread))


def _of_image(script: Script) -> Script:
    """The script with unread files counted as files of the image, not as missing ones."""
    unread = tuple(replace(each, missing=False) for each in script.unread)
    return replace(script, unread=unread)


def _at_hand(container: Container, texts: Mapping[str, str]) -> Container:
    """The container with the folders of its ConfigMaps by their last names, where folders of these names are
    among the files that are given."""
    folders: dict[str, Text] = {}
    for path in container.files[:MOST_FOLDERS]:
        name = posixpath.basename(path)
        if any(f"/{name}/" in f"/{text}" for text in texts):
            folders[path] = word(name).pieces
    if not folders:
        return container
    pattern = re.compile(f"({'|'.join(map(re.escape, folders))})(?=/)")
    words = (Word(tuple(replaced(each.pieces, pattern, folders))) for each in container.words)
    return replace(container, words=tuple(words))


def _words(
    container: Container, variables: Mapping[str, Text], given: Mapping[str, str]
) -> Iterator[Word]:
    in_shell = bool(container.words) and program(container.words[0]) in SHELLS
    for each in container.words:
        text = tuple(replaced(each.pieces, _OWN, variables))
        yield Word(text if in_shell else _plain(text, given))


def _plain(text: Text, given: Mapping[str, str]) -> Text:
    """Text as a program other than a shell gets it: names are filled in before the manifest is applied."""
    found: dict[str, Text] = {}
    for piece in text:
        for match in _GIVEN.finditer(piece.text if isinstance(piece.text, str) else ""):
            name = match[1] or match[2]
            open_ = Unknown(f"`{match[0]}` is filled in before the manifest is applied")
            found[name] = word(given.get(name, open_)).pieces
    return tuple(replaced(text, _GIVEN, found))


def replaced(text: Text, pattern: re.Pattern[str], values: Mapping[str, Text]) -> Iterator[Piece]:
    """The pieces with each name that has a value replaced, at the place where it stands."""
    for piece in text:
        start = 0
        for match in pattern.finditer(piece.text if isinstance(piece.text, str) else ""):
            value = values.get(next(name for name in match.groups() if name))
            if value is None:
                continue
            if match.start() > start:
                before = shifted(piece, start)
                yield before._replace(text=str(before.text)[: match.start() - start])
            place = shifted(piece, match.start())
            yield from (place._replace(text=each.text) for each in value)
            start = match.end()
        if not start or start < len(str(piece.text)):
            yield shifted(piece, start) if start else piece
