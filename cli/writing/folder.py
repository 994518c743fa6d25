"""A folder that is open -> its files by their names below it. Every writer of parc goes through here.

Each part of a name is opened in the folder before it and is no link, so that nothing is read, written,
renamed or removed elsewhere, also where somebody changes the folder meanwhile. Nothing of Git's is touched.
"""

import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from .durable import new_file, sync_folder, try_lock
from .paths import InTheWay, Refused, kind_of, parts_of, resolved
from .temporary import PREFIX, is_own, new_name

#: Bytes of the longest file that is compared or replaced; those that parc writes have some hundred kilobytes.
MOST_BYTES = 64 * 2**20
#: Seconds that a process waits for one that writes, and between two looks.
PATIENCE, PAUSE = 10.0, 0.05
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: A folder on the way is passed through, which needs less than the right to list it.
_ON_THE_WAY = _FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
#: Kinds of what is locked.
_LOCKED = {stat.S_IFDIR, stat.S_IFREG}


class InUse(Exception):
    """Another process is writing there."""


class Kept(Exception):
    """Raised where the content of a temporary folder is still needed."""


class Folder:
    """A folder by its place without links, the path that the user has for it, and its open number; None where
    there is no folder."""

    def __init__(self, path: Path, number: int | None, named: Path | None = None) -> None:
        self.path, self._number, self.named = path, number, named or path

    @property
    def is_missing(self) -> bool:
        return self._number is None

    @property
    def number(self) -> int:
        if self._number is None:
            raise FileNotFoundError
        return self._number

    @contextmanager
    def parent(self, name: str, make: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder of a name and its last part. Raises `Refused`, `InTheWay` and `OSError`."""
        *above, last = parts_of(name)
        number = os.dup(self.number)
        try:
            for depth, part in enumerate(above, 1):
                below = _step(part, number, "/".join(above[:depth]), make)
                os.close(number)
                number = below
            yield number, last
        finally:
            os.close(number)

    def status(self, name: str) -> os.stat_result | None:
        """The answer of `lstat`; None where there is nothing. Raises `InTheWay` for what is no folder."""
        try:
            with self.parent(name) as (number, last):
                return os.stat(last, dir_fd=number, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def file_status(self, name: str) -> os.stat_result | None:
        """The status of a plain file; None where there is nothing, `InTheWay` for anything else."""
        found = self.status(name)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise InTheWay(name, kind_of(found.st_mode))
        return found

    def read(self, name: str) -> bytes | None:
        """The content of a plain file; None where there is nothing. Raises as `file_status`."""
        if self.file_status(name) is None:
            return None
        with self.opened(name, os.O_RDONLY) as number, os.fdopen(number, "rb", closefd=False) as it:
            content = it.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise Refused(f"`{name}` has more than {MOST_BYTES:,} bytes")
        return content

    @contextmanager
    def opened(self, name: str, flags: int) -> Iterator[int]:
        """A plain file, open. Raises `InTheWay` and `OSError`."""
        self.file_status(name)
        with self.parent(name, make=bool(flags & os.O_CREAT)) as (above, last):
            number = os.open(last, flags | _FILE, 0o666, dir_fd=above)
        try:
            mode = os.fstat(number).st_mode
            if not stat.S_ISREG(mode):
                raise InTheWay(name, kind_of(mode))
            yield number
        finally:
            os.close(number)

    def create(self, name: str, content: bytes, mode: int | None = None) -> None:
        """A new file, and the folders that it needs."""
        with self.parent(name, make=True) as (number, last):
            with new_file(last, number, content, mode):
                pass
            sync_folder(number)

    def replace(self, name: str, content: bytes, mode: int | None = None) -> None:
        """A file as a whole, by a temporary one beside it; everything is as before when this raises."""
        with self.parent(name) as (number, last):
            temporary = new_name(self.path.joinpath(name).parent)
            try:
                with new_file(temporary, number, content, mode):
                    os.replace(temporary, last, src_dir_fd=number, dst_dir_fd=number)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=number)
                raise
            sync_folder(number)

    def let_run(self, name: str) -> None:
        """Make a file executable for whoever may read it."""
        with self.opened(name, os.O_RDONLY) as number:
            os.fchmod(number, stat.S_IMODE(os.fstat(number).st_mode) | 0o111)

    def take(self, name: str, source: "Folder", at: str) -> None:
        """Rename a file of another folder of this file system to a name here."""
        with source.parent(at) as (old, last), self.parent(name, make=True) as (new, to):
            os.replace(last, to, src_dir_fd=old, dst_dir_fd=new)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError), self.parent(name) as (number, last):
            os.unlink(last, dir_fd=number)

    def make(self, name: str) -> None:
        """A folder, and those that it needs."""
        with self.parent(f"{name}/_", make=True):
            pass

    def remove_empty(self, names: Iterable[str]) -> None:
        """Remove those of the folders, deepest first, in which nothing is left."""
        for name in sorted(set(names), key=lambda name: -name.count("/")):
            with suppress(OSError, Refused), self.parent(name) as (number, last):
                os.rmdir(last, dir_fd=number)

    def sync(self, names: Iterable[str]) -> None:
        """Renames in these folders are on the disk after this; the folder itself is the name ''."""
        for name in set(names):
            with suppress(OSError, Refused), self.below(name) as folder:
                sync_folder(folder.number)

    @contextmanager
    def below(self, name: str) -> Iterator["Folder"]:
        """A folder in it. Raises as `parent`."""
        if not name:
            yield self
            return
        with self.parent(name) as (number, last):
            found = _step(last, number, name, False, _FOLDER | os.O_RDONLY)
        try:
            yield Folder(self.path / name, found)
        finally:
            os.close(found)

    @contextmanager
    def temporary(self) -> Iterator["Folder"]:
        """A new folder that others may not enter, locked while this process lives. What has its name
        afterwards is removed, unless `Kept` is raised."""
        name = new_name(self.path)
        os.mkdir(name, 0o700, dir_fd=self.number)
        try:
            with self.below(name) as folder:
                try_lock(folder.number)
                yield folder
        except Kept:
            raise
        except BaseException:
            shutil.rmtree(name, ignore_errors=True, dir_fd=self.number)
            raise
        shutil.rmtree(name, ignore_errors=True, dir_fd=self.number)

    def leftovers(self) -> list[str]:
        """Names of what killed processes have left, or somebody has called like it."""
        found = [] if self._number is None else os.listdir(self.number)
        return sorted(name for name in found if name.startswith(PREFIX) and not self._is_held(name))

    def sweep(self) -> None:
        """Remove what processes of this user have left here that are no more."""
        for name in self.leftovers():
            if is_own(name, self.path) and self._is_held(name) is False:
                shutil.rmtree(name, ignore_errors=True, dir_fd=self.number)
                with suppress(OSError):
                    os.unlink(name, dir_fd=self.number)

    def _is_held(self, name: str) -> bool | None:
        """Whether a process that lives has locked it; None where that cannot be known."""
        try:
            if (
                stat.S_IFMT(os.stat(name, dir_fd=self.number, follow_symlinks=False).st_mode)
                not in _LOCKED
            ):
                return None
            number = os.open(name, os.O_RDONLY | _FILE, dir_fd=self.number)
        except OSError:
            return None
        try:
            held = try_lock(number)
            return None if held is None else not held
        finally:
            os.close(number)


def _step(part: str, above: int, name: str, make: bool, flags: int = _ON_THE_WAY) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=above)
    try:
        return os.open(part, flags, dir_fd=above)
    except OSError as error:
        found = os.stat(part, dir_fd=above, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            raise error
        raise InTheWay(name, kind_of(found.st_mode)) from None


@contextmanager
def folder_at(path: str | os.PathLike[str]) -> Iterator[Folder]:
    """The folder that a path names, to read in. Raises `Refused` and `OSError`."""
    with ExitStack() as stack:
        root = stack.enter_context(_root())
        place = resolved(path)
        yield _entered(stack, root, place, Path(path))


@contextmanager
def made(path: str | os.PathLike[str]) -> Iterator[Folder]:
    """The folder that a path names, to write in: it and those above it are made where they are missing, and
    gone again when the context raises. Raises `Refused` and `OSError`."""
    with ExitStack() as stack:
        root = stack.enter_context(_root())
        place = resolved(path)
        chain = [str(each).strip("/") for each in (place, *place.parents)]
        missing = [name for name in chain if name and not os.path.lexists(f"/{name}")]
        try:
            if missing:
                with _worded():
                    root.make(missing[0])
            yield _entered(stack, root, place, Path(path))
        except BaseException:
            root.remove_empty(missing)
            raise


@contextmanager
def _root() -> Iterator[Folder]:
    number = os.open("/", os.O_RDONLY | _FOLDER)
    try:
        yield Folder(Path("/"), number)
    finally:
        os.close(number)


def _entered(stack: ExitStack, root: Folder, place: Path, named: Path) -> Folder:
    try:
        with _worded():
            folder = stack.enter_context(root.below(str(place).strip("/")))
    except FileNotFoundError:
        return Folder(place, None, named)
    return Folder(place, folder.number, named)


@contextmanager
def _worded() -> Iterator[None]:
    """Tells what is in the way by its whole path."""
    try:
        yield
    except InTheWay as error:
        raise Refused(f"`/{error.name}` is {error.what}") from None


@contextmanager
def locked(path: str | os.PathLike[str], to_write: bool) -> Iterator[Folder]:
    """The folder, and nobody else writes in it while the context lasts, where its file system has locks.

    To be read it is not made. Raises `InUse` when another process writes for longer than `PATIENCE`, and as
    `made`.
    """
    limit = time.monotonic() + PATIENCE
    while True:
        with (made if to_write else folder_at)(path) as folder:
            if _is_held(folder, to_write):
                yield folder
                return
        if time.monotonic() > limit:
            raise InUse
        time.sleep(PAUSE)


def _is_held(folder: Folder, to_write: bool) -> bool:
    """Whether the lock is had, of what is still the folder: who held it before may have put another there."""
    if folder.is_missing:
        return not to_write
    if try_lock(folder.number, shared=not to_write) is False:
        return False
    with suppress(FileNotFoundError):
        return os.path.samestat(os.lstat(folder.path), os.fstat(folder.number))
    return False
