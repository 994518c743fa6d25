"""A folder and changes of its files -> all of them made, or none after any error.

Where the folder is parc's alone, one call puts a new one in its place. Else files are renamed into place one
by one, and meanwhile `plan.json` lists those of before beside those of after: if the process is killed, the
next run takes both for parc's own and writes what is still due. It believes nothing else that it finds.
"""

import signal
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Protocol

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .exchange import exchanged, whole
from .folder import Folder, InUse, Kept, folder_at, locked
from .paths import why
from .written_files import MANIFEST, digest, is_manifest, under_way


class Edit(Protocol):
    """A file below the folder and its content before and after, None where there is none."""

    @property
    def path(self) -> str: ...
    @property
    def before(self) -> bytes | None: ...
    @property
    def after(self) -> bytes | None: ...


def swap(path: Path, edits: Sequence[Edit], scripts: frozenset[str]) -> None:
    """Makes all changes. Raises `JobError` where another process has changed a file or is writing now, and
    `OSError` or `Refused`, after which nothing has changed."""
    with in_turn(path, to_write=True) as folder:
        _sweep(folder)
        if wanted := [edit for edit in edits if _is_due(folder, edit, scripts)]:
            found = whole(folder, {edit.path for edit in edits})
            changed = {edit.path: edit.after for edit in wanted}
            if found is None or not exchanged(folder, found, changed, scripts):
                _make(folder, wanted, scripts)


@contextmanager
def in_turn(path: Path, to_write: bool) -> Iterator[Folder]:
    """The folder while no other process writes in it. Raises `JobError` where one does for long."""
    try:
        with locked(path, to_write) as folder:
            yield folder
    except InUse:
        raise JobError([_in_use(f"another process is writing to `{path}`")]) from None


def _sweep(folder: Folder) -> None:
    folder.sweep()
    with folder_at(folder.path.parent) as above:
        above.sweep()


def _in_use(message: str) -> Diagnostic:
    return Diagnostic(codes.OUTPUT_IN_USE, message, help="run it again when that one has ended")


def _is_due(folder: Folder, edit: Edit, scripts: frozenset[str]) -> bool:
    """Whether a change is still to be made; raises `JobError` where somebody else has changed the file."""
    now = folder.read(edit.path)
    if now == edit.after:
        return edit.path in scripts and not is_executable(folder, edit.path)
    if now != edit.before:
        message = f"`{folder.named / edit.path}` has been changed by another process meanwhile"
        raise JobError([_in_use(message)])
    return True


def is_executable(folder: Folder, name: str) -> bool:
    found = folder.status(name)
    return found is not None and bool(found.st_mode & 0o100)


def _make(folder: Folder, edits: Sequence[Edit], scripts: frozenset[str]) -> None:
    with folder.temporary() as staging:
        for edit in edits:
            _stage(folder, staging, edit, edit.path in scripts)
        for edit in _under_way(edits):
            staging.create(f"now/{edit.path}", _listing_both(edit, edits))
        with _uninterrupted():
            try:
                _apply(folder, staging, edits)
            except BaseException as error:
                _undo(folder, staging, edits, error)
                raise


def _stage(folder: Folder, staging: Folder, edit: Edit, script: bool) -> None:
    found = folder.status(edit.path)
    mode = None if found is None else stat.S_IMODE(found.st_mode)
    if edit.before is not None:
        staging.create(f"old/{edit.path}", edit.before, mode)
    if edit.after is not None:
        staging.create(f"new/{edit.path}", edit.after, mode)
        if script:
            staging.let_run(f"new/{edit.path}")


def _under_way(edits: Sequence[Edit]) -> list[Edit]:
    """The manifests that are written twice: before the files that they list, and after them."""
    if len(edits) == 1:
        return []
    return [edit for edit in edits if is_manifest(edit.path) and edit.after is not None]


def _listing_both(edit: Edit, edits: Sequence[Edit]) -> bytes:
    part = edit.path.removesuffix(MANIFEST)
    replaced = {
        each.path.removeprefix(part): str(digest(each.before))
        for each in edits
        if each.before is not None and each is not edit and each.path.startswith(part)
    }
    return under_way(edit.after or b"", replaced)


def _apply(folder: Folder, staging: Folder, edits: Sequence[Edit]) -> None:
    first = _under_way(edits)
    for edit in first:
        folder.take(edit.path, staging, f"now/{edit.path}")
    folder.sync(_above(first))
    for edit in sorted(edits, key=lambda edit: is_manifest(edit.path)):
        _put(folder, staging, edit, "new", edit.after)
    _at_rest(folder, edits)


def _undo(folder: Folder, staging: Folder, edits: Sequence[Edit], cause: BaseException) -> None:
    """Raises `Kept` of a `JobError` where that fails too: the old files stay until the next run, which
    writes what is due."""
    try:
        for edit in sorted(edits, key=lambda edit: is_manifest(edit.path)):
            if is_manifest(edit.path) or folder.read(edit.path) == edit.after:
                _put(folder, staging, edit, "old", edit.before)
        _at_rest(folder, edits)
    except (OSError, ValueError) as error:
        message = f"`{folder.named}` is half-written and cannot be put back: {why(error)}"
        help = f"its files are in {staging.path / 'old'}; the next run into the folder tries again"
        raise HalfWritten([Diagnostic(codes.UNWRITABLE, message, help=help)]) from cause


class HalfWritten(JobError, Kept):
    """The old files are still in the temporary folder."""


def _put(folder: Folder, staging: Folder, edit: Edit, side: str, content: bytes | None) -> None:
    if content is None:
        folder.remove(edit.path)
    elif staging.status(f"{side}/{edit.path}") is not None:
        folder.take(edit.path, staging, f"{side}/{edit.path}")


def _at_rest(folder: Folder, edits: Sequence[Edit]) -> None:
    above = _above(edits)
    folder.sync(above)
    folder.remove_empty(above - {""})


def _above(edits: Sequence[Edit]) -> set[str]:
    """The folders that the files are in, and those around them; the folder itself is ''."""
    found = {str(each) for edit in edits for each in PurePosixPath(edit.path).parents}
    return {"" if name == "." else name for name in found}


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C and requests to end until the renames are done; only the main thread may set handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in before:
        if before[number] not in (signal.SIG_IGN, None):
            signal.signal(number, lambda number, frame: heard.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
    for each in heard:
        signal.raise_signal(each)
