"""An output folder and its new files -> the changes, made all at once or not at all.

`plan.json` lists each file that parc wrote with its sha256, so parc removes what it no longer
writes, leaves the rest alone, and knows which files somebody has edited.
"""

import difflib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import bytes_of, reason_of

from .. import codes
from .folder_swap import MOST_BYTES, content, digest, is_executable, is_inside, recovered, swap

MANIFEST = "plan.json"
#: Characters of a line beyond which a file is for programs: its difference is told and not printed.
LONGEST_LINE = 10_000


@dataclass(frozen=True)
class Change:
    """One file that writing would touch; `before` is None for a new file, `after` for one that goes.

    `edited` is whether somebody has changed it since parc wrote it.
    """

    path: str
    before: bytes | None
    after: bytes | None
    edited: bool = False

    @property
    def kind(self) -> Literal["add", "change", "remove"]:
        return "add" if self.before is None else "change" if self.after is not None else "remove"

    @property
    def stays(self) -> bool:
        """Whether somebody's edit keeps a file of which parc has no more to write."""
        return self.edited and self.after is None

    def diff(self) -> str:
        """The change as a unified diff, or for what is not read by lines that there is one."""
        before, after = (_lines(content) for content in (self.before, self.after))
        old = "/dev/null" if self.before is None else f"a/{self.path}"
        new = "/dev/null" if self.after is None else f"b/{self.path}"
        if max(map(len, [*before, *after]), default=0) > LONGEST_LINE:
            return f"Files {old} and {new} differ\n"
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(before, after, old, new)
        )


def manifest(files: Mapping[str, str]) -> dict[str, str]:
    """sha256 of each file, for `plan.json`."""
    return {path: str(digest(text.encode())) for path, text in sorted(files.items())}


def readable(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The text of each of these files that is there and is a text; no link is followed."""
    found = {}
    for name in names:
        with suppress(OSError, ValueError):
            if not (place := folder / name).is_symlink() and (held := content(place)) is not None:
                found[name] = held.decode()
    return found


def changes(
    folder: Path,
    files: Mapping[str, str],
    parts: Iterable[str] = ("",),
    scripts: Iterable[str] = (),
) -> list[Change]:
    """What writing `files` into `folder` would change; each of `parts`, such as "job/", has a `plan.json`.

    A script that is not executable is a change too.

    Raises `JobError` where the folder cannot be read, or holds a file of someone else under a needed name.
    """
    try:
        _refuse_file(folder)
        with recovered(folder):
            found = list(_found(folder, files, parts, frozenset(scripts)))
    except (OSError, ValueError) as error:
        raise JobError([_unwritable(folder, error)]) from error
    return [change for change in found if change is not None]


def _found(
    folder: Path, files: Mapping[str, str], parts: Iterable[str], scripts: frozenset[str]
) -> Iterator[Change | None]:
    owned = {path: known for part in parts for path, known in _owned(folder, part).items()}
    for path, text in sorted(files.items()):
        yield _change(folder, path, text.encode(), owned, path in scripts)
    for path in sorted(owned.keys() - files.keys()):
        yield _removal(folder, path, owned[path])


def write(
    folder: Path, wanted: Iterable[Change], scripts: Iterable[str] = (), force: bool = False
) -> None:
    """Make the changes: all of them, or after any error or Ctrl-C none.

    What somebody has edited is replaced or removed with `force` alone. Raises `JobError`.
    """
    changes_to_make = [change for change in wanted if force or not change.stays]
    if not force:
        _refuse_edited(folder, changes_to_make)
    if not changes_to_make:
        return
    try:
        swap(folder, changes_to_make, frozenset(scripts))
    except (OSError, ValueError) as error:
        raise JobError([_unwritable(folder, error)]) from error


def _refuse_edited(folder: Path, wanted: Iterable[Change]) -> None:
    complaints = [
        Diagnostic(
            codes.EDITED,
            f"`{folder / change.path}` has been edited since parc wrote it",
            help="say it in the job, or replace it with --force; --diff shows what would change",
        )
        for change in wanted
        if change.edited
    ]
    if complaints:
        raise JobError(complaints)


def refuse_unwritable(folder: Path) -> None:
    """Raises `JobError` where the folder, or what it would be made in, lets nothing be written: before a
    search whose files would be lost."""
    place = next((path for path in (folder, *folder.parents) if path.exists()), Path())
    if place.is_dir() and not os.access(place, os.W_OK | os.X_OK):
        message = f"the output folder `{folder}` cannot be written"
        raise JobError(
            [Diagnostic(codes.UNWRITABLE, message, help="choose another folder with -o")]
        )


def _refuse_file(folder: Path) -> None:
    place = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if place.exists() and not place.is_dir():
        message = f"the output folder `{folder}` cannot be: `{place}` is a file"
        raise JobError(
            [Diagnostic(codes.UNWRITABLE, message, help="choose another folder with -o")]
        )


def _owned(folder: Path, part: str) -> dict[str, str]:
    """Files that an earlier run wrote, with their sha256; empty for the manifest itself."""
    path = folder / part / MANIFEST
    if not path.exists():
        return {}
    try:
        listed = json.loads(bytes_of(path, MOST_BYTES))["files"]
        owned = {f"{part}{name}": str(known) for name, known in listed.items()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}
    inside = {name: known for name, known in owned.items() if is_inside(name)}
    return {**inside, f"{part}{MANIFEST}": ""}


def _change(
    folder: Path, path: str, after: bytes, owned: Mapping[str, str], script: bool
) -> Change | None:
    place = folder / path
    parents = [place, *(parent for parent in place.parents if folder in parent.parents)]
    linked = next((each for each in parents if each.is_symlink()), None)
    blocked = next((each for each in parents[1:] if each.exists() and not each.is_dir()), None)
    if linked or blocked or place.is_dir():
        raise JobError([_foreign(linked or blocked or place)])
    before = content(place)
    if before is None:
        return Change(path, None, after)
    if before == after:
        return Change(path, before, after) if script and not is_executable(place) else None
    if path not in owned:
        raise JobError([_foreign(place)])
    return Change(path, before, after, owned[path] not in ("", digest(before)))


def _removal(folder: Path, path: str, known: str) -> Change | None:
    """The removal of a file of an earlier run; no link is followed."""
    place = folder / path
    if place.is_symlink() or not place.is_file():
        return None
    before = content(place)
    return Change(path, before, None, digest(before) != known)


def _foreign(place: Path) -> Diagnostic:
    return Diagnostic(
        codes.FOREIGN,
        f"`{place}` was not written by parc and is in the way",
        help="move it, or choose another folder with -o",
    )


def _unwritable(folder: Path, error: OSError | ValueError) -> Diagnostic:
    message = f"cannot write the output folder `{folder}`: {reason_of(error)}"
    help = "what was in it is unchanged: make room, or choose another folder with -o"
    return Diagnostic(codes.UNWRITABLE, message, help=help)


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode(errors="replace").splitlines(keepends=True)
