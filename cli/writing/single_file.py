"""A path and a text -> the file, written whole or not at all; a file that parc did not write is refused."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .folder import Folder, folder_at
from .paths import Refused, resolved, why


def refuse(
    path: Path, is_ours: Callable[[str], bool], force: bool, read: Iterable[str | Path] = ()
) -> None:
    """Raises JobError where `path` cannot be written, holds what parc did not write, or is one of the files
    that are `read`, which `force` does not replace either."""
    with _told(path):
        same = next((each for each in read if _same(path, each)), None)
        if same is not None:
            raise JobError([_unwritable(path, f"`{same}` is read")])
        if path.exists() and not path.is_file():
            raise JobError([_unwritable(path, "it is not a regular file")])
        with _beside(path) as (folder, name):
            if not os.access(folder.path, os.W_OK | os.X_OK):
                raise JobError([_unwritable(path, "its folder cannot be written")])
            held = None if force else folder.read(name)
        if held is not None and not is_ours(held.decode(errors="replace")):
            message = f"`{path}` was not written by parc, or has been changed since"
            help = "choose another file with -o, or replace it with --force"
            raise JobError([Diagnostic(codes.FOREIGN, message, help=help)])


def _same(one: Path, other: str | Path) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


@contextmanager
def _told(path: Path, help: str | None = "choose another with -o") -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise JobError([_unwritable(path, why(error), help)]) from None


@contextmanager
def _beside(path: Path) -> Iterator[tuple[Folder, str]]:
    """The folder of a file and its name there, where a link leads to it. Raises `Refused` and `OSError`."""
    place = resolved(path)
    with folder_at(place.parent) as folder:
        if folder.is_missing:
            raise Refused("its folder does not exist")
        yield folder, place.name


def replace(path: Path, text: str) -> bool:
    """Makes `text` the content of a file; False if it already is. Raises JobError and keeps the old file."""
    content = text.encode(errors="replace")
    with _told(path), _beside(path) as (folder, name):
        if folder.read(name) == content:
            return False
        _swap(folder, name, content)
    return True


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Changes a file of somebody else, where a link leads to it, if it still holds `before`.

    Raises `JobError`, also for a file with a second name (a hard link), which would keep the old content.
    """
    with _told(path, help=None), _beside(path) as (folder, name):
        if folder.read(name) != before:
            raise JobError([_left(path, "is not UTF-8, or has changed meanwhile")])
        found = folder.status(name)
        if found is not None and found.st_nlink > 1:
            raise JobError([_left(path, "has another name, which would keep the old text")])
        _swap(folder, name, after)


def _left(path: Path, reason: str) -> Diagnostic:
    return Diagnostic(codes.UNWRITABLE, f"`{path}` {reason}: it is left as it is")


def _swap(folder: Folder, name: str, content: bytes) -> None:
    """The mode of a file that is there is kept."""
    folder.sweep()
    found = folder.status(name)
    folder.replace(name, content, None if found is None else stat.S_IMODE(found.st_mode))


def _unwritable(path: Path, reason: str, help: str | None = "choose another with -o") -> Diagnostic:
    return Diagnostic(codes.UNWRITABLE, f"cannot write `{path}`: {reason}", help=help)
