"""An output folder and its new files -> the changes, made all at once or not at all.

`plan.json` lists each file that parc wrote with its sha256, so parc removes what it no longer
writes and leaves the rest alone.
"""

import difflib
import hashlib
import json
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes

MANIFEST = "plan.json"


@dataclass(frozen=True)
class Change:
    """One file that writing would touch; `before` is None for a new file, `after` for one that goes."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def kind(self) -> Literal["add", "change", "remove"]:
        return "add" if self.before is None else "change" if self.after is not None else "remove"

    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (_lines(content) for content in (self.before, self.after))
        old = "/dev/null" if self.before is None else f"a/{self.path}"
        new = "/dev/null" if self.after is None else f"b/{self.path}"
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(before, after, old, new)
        )


def manifest(files: Mapping[str, str]) -> dict[str, str]:
    """sha256 of each file, for `plan.json`."""
    return {path: _sha256(text.encode()) for path, text in sorted(files.items())}


def changes(folder: Path, files: Mapping[str, str], parts: Iterable[str] = ("",)) -> list[Change]:
    """What writing `files` into `folder` would change; each of `parts`, such as "job/", has a `plan.json`.

    Raises `JobError` where the folder cannot be read, or holds a file of someone else under a needed name.
    """
    try:
        _refuse_file(folder)
        owned = {path: digest for part in parts for path, digest in _owned(folder, part).items()}
        found = [
            _change(folder, path, text.encode(), owned) for path, text in sorted(files.items())
        ]
        found += [
            _removal(folder, path, owned[path]) for path in sorted(owned.keys() - files.keys())
        ]
    except OSError as error:
        raise JobError([_unwritable(folder, error)]) from error
    return [change for change in found if change is not None]


def write(folder: Path, wanted: Iterable[Change], scripts: Iterable[str] = ()) -> None:
    """Make the changes: all of them, or after any error or Ctrl-C none."""
    changes_to_make = list(wanted)
    if not changes_to_make:
        return
    try:
        with _staging(folder) as staging:
            _stage(staging, changes_to_make, frozenset(scripts))
            with _uninterrupted():
                _swap(folder, staging, changes_to_make)
    except OSError as error:
        raise JobError([_unwritable(folder, error)]) from error


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
        listed = json.loads(path.read_bytes())["files"]
        owned = {f"{part}{name}": str(digest) for name, digest in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    inside = {name: digest for name, digest in owned.items() if _is_inside(name)}
    return {**inside, f"{part}{MANIFEST}": ""}


def _is_inside(name: str) -> bool:
    return not name.startswith("/") and ".." not in Path(name).parts


def _change(folder: Path, path: str, after: bytes, owned: Mapping[str, str]) -> Change | None:
    place = folder / path
    blocked = next(
        (p for p in place.parents if p != folder and p.exists() and not p.is_dir()), None
    )
    if blocked is not None or place.is_dir():
        raise JobError([_foreign(blocked or place)])
    if not place.exists():
        return Change(path, None, after)
    before = place.read_bytes()
    if before == after:
        return None
    if path not in owned:
        raise JobError([_foreign(place)])
    return Change(path, before, after)


def _removal(folder: Path, path: str, digest: str) -> Change | None:
    """The removal of a file of an earlier run, unless someone has edited it since."""
    place = folder / path
    if not place.is_file() or _sha256(before := place.read_bytes()) != digest:
        return None
    return Change(path, before, None)


def _foreign(place: Path) -> Diagnostic:
    return Diagnostic(
        codes.FOREIGN,
        f"`{place}` was not written by parc and is in the way",
        help="move it, or choose another folder with -o",
    )


def _unwritable(folder: Path, error: OSError) -> Diagnostic:
    reason = (error.strerror or str(error)).lower()
    message = f"cannot write the output folder `{folder}`: {reason}"
    return Diagnostic(codes.UNWRITABLE, message, help="what was in it is unchanged")


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """A temporary folder inside `folder`, thus on its file system; removed after, with new empty folders."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        staging = Path(tempfile.mkdtemp(prefix=".parc-", dir=folder))
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    finally:
        _remove_empty(missing)


def _stage(staging: Path, wanted: Iterable[Change], scripts: frozenset[str]) -> None:
    for change in wanted:
        if change.after is None:
            continue
        place = staging / "new" / change.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(change.after)
        if change.path in scripts:
            place.chmod(place.stat().st_mode | 0o111)


def _swap(folder: Path, staging: Path, wanted: Iterable[Change]) -> None:
    """Rename old files out and new ones in; undo it all when one rename fails."""
    made: list[tuple[Path, Path]] = []
    try:
        for change in wanted:
            place, old = folder / change.path, staging / "old" / change.path
            if change.before is not None:
                old.parent.mkdir(parents=True, exist_ok=True)
                _rename(place, old, made)
            if change.after is not None:
                place.parent.mkdir(parents=True, exist_ok=True)
                _rename(staging / "new" / change.path, place, made)
    except BaseException:
        for source, target in reversed(made):
            target.rename(source)
        raise
    finally:
        _remove_empty(parent for change in wanted for parent in _parents_below(folder, change.path))


def _rename(source: Path, target: Path, made: list[tuple[Path, Path]]) -> None:
    source.rename(target)
    made.append((source, target))


def _parents_below(folder: Path, path: str) -> list[Path]:
    return [folder / parent for parent in Path(path).parents if str(parent) != "."]


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of the folders, deepest first, in which nothing is left."""
    for folder in sorted(set(folders), key=lambda path: -len(path.parts)):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C until the renames are done; only the main thread may set signal handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode(errors="replace").splitlines(keepends=True)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
