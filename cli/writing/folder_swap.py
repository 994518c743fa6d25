"""A folder and changes of its files -> all of them made, or none, whatever ends the process meanwhile.

New files and copies of the old ones are first written into a temporary folder inside the folder. A journal
then says that they count: from there on the changes are made, by this run or by the next one, which finds it.
"""

import hashlib
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import bytes_of

from .. import codes
from .durable import PREFIX, InUse, locked, new_file, sync_folder

#: The two journals, and the folder of the files that each puts in place.
COMMIT, UNDO = "commit", "undo"
SIDES: Mapping[str, Literal["new", "old"]] = {UNDO: "old", COMMIT: "new"}
#: Bytes of the longest file that is compared; those that parc writes have some hundred kilobytes.
MOST_BYTES = 64 * 2**20

#: Path -> digests of the file's content before ("old") and after ("new"), None where there is no file.
Journal = dict[str, dict[str, str | None]]


class Edit(Protocol):
    """A file below the folder and its content before and after, None where there is none."""

    @property
    def path(self) -> str: ...
    @property
    def before(self) -> bytes | None: ...
    @property
    def after(self) -> bytes | None: ...


def swap(folder: Path, edits: Sequence[Edit], scripts: frozenset[str]) -> None:
    """Makes all changes. Raises `JobError` where another process has changed a file or is writing now,
    and `OSError`, after which nothing has changed."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _holding(folder) as alone:
            _finish(folder, alone)
            if wanted := [edit for edit in edits if _is_due(folder, edit, scripts)]:
                _make(folder, wanted, scripts)
    except JobError:
        raise
    except BaseException:
        remove_empty(missing)
        raise


@contextmanager
def recovered(folder: Path) -> Iterator[None]:
    """The folder at rest: what a killed run has begun is ended, and nobody writes. Raises `JobError`."""
    if not folder.is_dir():
        yield
        return
    with _holding(folder) as alone:
        _finish(folder, alone)
        yield


@contextmanager
def _holding(folder: Path) -> Iterator[bool]:
    with ExitStack() as stack:
        try:
            alone = stack.enter_context(locked(folder))
        except InUse:
            raise JobError([_in_use(f"another process is writing to `{folder}`")]) from None
        yield alone


def _in_use(message: str) -> Diagnostic:
    return Diagnostic(codes.OUTPUT_IN_USE, message, help="run it again when that one has ended")


def _is_due(folder: Path, edit: Edit, scripts: frozenset[str]) -> bool:
    """Whether a change is still to be made; raises `JobError` where somebody else has changed the file."""
    now = content(folder / edit.path)
    if now == edit.after:
        return edit.path in scripts and not is_executable(folder / edit.path)
    if now != edit.before:
        message = f"`{folder / edit.path}` has been changed by another process meanwhile"
        raise JobError([_in_use(message)])
    return True


def content(place: Path) -> bytes | None:
    return bytes_of(place, MOST_BYTES) if os.path.lexists(place) else None


def is_executable(place: Path) -> bool:
    return bool(place.stat().st_mode & 0o100)


def _make(folder: Path, edits: Sequence[Edit], scripts: frozenset[str]) -> None:
    staging = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    journal: Journal = {
        edit.path: {"old": digest(edit.before), "new": digest(edit.after)} for edit in edits
    }
    try:
        for edit in edits:
            _stage(folder, staging, edit, edit.path in scripts)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    with _uninterrupted():
        _commit(folder, staging, journal)


def _stage(folder: Path, staging: Path, edit: Edit, script: bool) -> None:
    place = folder / edit.path
    mode = place.stat().st_mode & 0o777 if edit.before is not None else None
    if edit.before is not None:
        _write_below(staging / "old" / edit.path, edit.before, mode)
    if edit.after is not None:
        new = staging / "new" / edit.path
        _write_below(new, edit.after, mode)
        if script:
            new.chmod(new.stat().st_mode | 0o111)


def _write_below(path: Path, content: bytes, mode: int | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path, content, mode):
        pass
    sync_folder(path.parent)


def _commit(folder: Path, staging: Path, journal: Journal) -> None:
    """From the journal's rename on, the changes are made even if this process is killed."""
    try:
        with new_file(staging / "journal", json.dumps(journal).encode()):
            os.rename(staging / "journal", staging / COMMIT)
        sync_folder(staging)
        sync_folder(folder)
        _apply(folder, staging, journal, "new")
    except BaseException as error:
        _undo(folder, staging, journal, error)
        raise
    shutil.rmtree(staging, ignore_errors=True)


def _undo(folder: Path, staging: Path, journal: Journal, cause: BaseException) -> None:
    """Raises `JobError` where that fails too: the old files are kept, and the next run tries again."""
    try:
        if (staging / COMMIT).exists():
            os.rename(staging / COMMIT, staging / UNDO)
            _apply(folder, staging, journal, "old")
        shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"`{folder}` is half-written and cannot be put back: {reason}"
        help = f"its files are in {staging / 'old'}; the next run into the folder tries again"
        raise JobError([Diagnostic(codes.UNWRITABLE, message, help=help)]) from cause


def _apply(folder: Path, staging: Path, journal: Journal, side: Literal["new", "old"]) -> None:
    """Puts one side's files in place; what is done already, or edited since by somebody, stays."""
    for path, digests in journal.items():
        place, source = folder / path, staging / side / path
        if digest(content(place)) not in digests.values():
            continue
        if digests[side] is None:
            place.unlink(missing_ok=True)
        elif source.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, place)
    parents = {folder / parent for path in journal for parent in PurePosixPath(path).parents}
    for parent in filter(Path.is_dir, parents):
        sync_folder(parent)
    remove_empty(parents - {folder})


def _finish(folder: Path, alone: bool) -> None:
    """What killed runs have left; without a lock, a folder without a journal may be of one that is alive."""
    for staging in folder.glob(f"{PREFIX}*"):
        if staging.is_symlink() or not staging.is_dir() or staging.stat().st_uid != os.geteuid():
            continue
        for name, side in SIDES.items():
            if (staging / name).exists():
                _apply(folder, staging, _journal(staging / name), side)
                alone = True
                break
        if alone:
            shutil.rmtree(staging, ignore_errors=True)


def _journal(path: Path) -> Journal:
    """What a journal says of files below the folder; nothing where it is no journal of ours."""
    try:
        read: Any = json.loads(bytes_of(path, MOST_BYTES))
        return {
            name: {side: digests[side] for side in ("old", "new")}
            for name, digests in read.items()
            if is_inside(name)
        }
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return {}


def is_inside(name: str) -> bool:
    return not name.startswith("/") and ".." not in PurePosixPath(name).parts


def digest(content: bytes | None) -> str | None:
    """The sha256 that `plan.json` lists."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of the folders, deepest first, in which nothing is left."""
    for folder in sorted(set(folders), key=lambda path: -len(path.parts)):
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()


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
