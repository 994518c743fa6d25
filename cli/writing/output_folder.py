"""An output folder and its new files -> the changes, made all at once or not at all.

`plan.json` lists each file that parc wrote with its sha256, so parc removes what it no longer
writes, leaves the rest alone, and knows which files somebody has edited.
"""

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .folder import Folder, folder_at
from .folder_swap import in_turn, is_executable, swap
from .paths import InTheWay, Refused, is_writable_name, why
from .written_files import MANIFEST, MayBe, Owned, digest, is_launch_file, manifest, owned

__all__ = [
    "MANIFEST",
    "Change",
    "changes",
    "is_launch_file",
    "leftovers",
    "manifest",
    "readable",
    "refuse_unwritable",
    "write",
]

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


def readable(path: Path, names: Iterable[str]) -> dict[str, str]:
    """The text of each of these files that is there and is a text; no link is followed."""
    found = {}
    with suppress(OSError, ValueError), folder_at(path) as folder:
        for name in names:
            with suppress(OSError, ValueError):
                if (held := folder.read(name)) is not None:
                    found[name] = held.decode()
    return found


def changes(
    path: Path,
    files: Mapping[str, str],
    parts: Iterable[str] = ("",),
    scripts: Iterable[str] = (),
    may_be: MayBe = is_writable_name,
) -> list[Change]:
    """The changes that writing `files` into the folder would change; each of `parts`, such as "job/", has a
    `plan.json`, which is believed of names that `may_be` parc's own. Nothing is written or made, and nothing
    ended that another run has begun.

    A script that is not executable is a change too.

    Raises `JobError` where the folder cannot be read, or holds a file of someone else under a needed name.
    """
    try:
        with in_turn(path, to_write=False) as folder:
            known: Owned = {}
            for part in parts:
                known |= owned(folder, part, may_be)
            found = list(_found(folder, files, known, frozenset(scripts)))
    except (OSError, ValueError) as error:
        raise JobError([_unwritable(path, error)]) from error
    return [change for change in found if change is not None]


def _found(
    folder: Folder, files: Mapping[str, str], known: Owned, scripts: frozenset[str]
) -> Iterator[Change | None]:
    for path, text in sorted(files.items()):
        yield _change(folder, path, text.encode(), known.get(path), path in scripts)
    for path in sorted(known.keys() - files.keys()):
        yield _removal(folder, path, known[path])


def leftovers(path: Path) -> list[Path]:
    """Files that killed runs have left in the folder and beside it, or that have such names."""
    found: list[Path] = []
    with suppress(OSError, ValueError), folder_at(path) as folder:
        found += [folder.path / name for name in folder.leftovers()]
        with folder_at(folder.path.parent) as above:
            found += [above.path / name for name in above.leftovers()]
    return found


def write(
    folder: Path, wanted: Iterable[Change], scripts: Iterable[str] = (), force: bool = False
) -> None:
    """Make the changes: all of them, or after any error or Ctrl-C none.

    What somebody has edited is replaced or removed with `force` alone. Raises `JobError`.
    """
    changes_to_make = [change for change in wanted if force or not change.stays]
    if not force:
        _refuse_edited(folder, changes_to_make)
    if not changes_to_make and not leftovers(folder):
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


def _change(
    folder: Folder, path: str, after: bytes, known: frozenset[str] | None, script: bool
) -> Change | None:
    """Raises `JobError` for what is not parc's: also for a file of two names, whose other one may be outside,
    unless its content is known."""
    try:
        status, before = folder.file_status(path), folder.read(path)
    except InTheWay as error:
        raise JobError([_foreign(folder, error.name, f"is {error.what}, ")]) from None
    if before is None or status is None:
        return Change(path, None, after)
    if before == after:
        return Change(path, before, after) if script and not is_executable(folder, path) else None
    if known is None:
        raise JobError([_foreign(folder, path)])
    edited = bool(known) and digest(before) not in known
    if status.st_nlink > 1 and edited:
        raise JobError([_foreign(folder, path, "has another name (a hard link), ")])
    return Change(path, before, after, edited)


def _removal(folder: Folder, path: str, known: frozenset[str]) -> Change | None:
    """The removal of a file of an earlier run; what is no plain file stays, and is not read."""
    try:
        status, before = folder.file_status(path), folder.read(path)
    except Refused:
        return None
    if before is None or status is None:
        return None
    edited = digest(before) not in known
    if status.st_nlink > 1 and edited:
        return None
    return Change(path, before, None, edited)


def _foreign(folder: Folder, name: str, why: str = "") -> Diagnostic:
    return Diagnostic(
        codes.FOREIGN,
        f"`{folder.named / name}` {why}was not written by parc and is in the way",
        help="move it, or choose another folder with -o",
    )


def _unwritable(folder: Path, error: OSError | ValueError) -> Diagnostic:
    message = f"cannot write the output folder `{folder}`: {why(error)}"
    room = "" if isinstance(error, Refused) else "what was in it is unchanged: make room, or "
    help = f"{room}choose another folder with -o"
    return Diagnostic(codes.UNWRITABLE, message, help=help)


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode(errors="replace").splitlines(keepends=True)
