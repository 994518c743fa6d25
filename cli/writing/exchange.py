"""A folder and its new content -> a new folder in its place by one call: it is old or new at every moment.

Only where nobody can tell the difference: the folder holds nothing but what parc wrote, no process works in
it, and its file system exchanges folders. Others keep the folder that they have: a job that runs in it finds
what it writes there.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .durable import sync_folder
from .folder import Folder, folder_at
from .written_files import is_manifest, known_names

#: Entries beyond which a folder is not taken for one that parc wrote.
_MOST_ENTRIES = 20_000
#: Attributes that a new folder gets by itself.
_OF_THE_SYSTEM = {"security.selinux"}
_EXCHANGE = 2
#: Errors by which a file system, or a right, says that folders are not exchanged or files not linked here.
_NOT_HERE = {
    errno.EXDEV, errno.EBUSY, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES,
    errno.EROFS, errno.EMLINK, errno.ENOTEMPTY, errno.EEXIST,
}  # fmt: skip


@dataclass(frozen=True)
class Whole:
    """The content of a folder of which every file is parc's own: modes of its folders and files by name."""

    folders: Mapping[str, int]
    files: Mapping[str, int]


def whole(folder: Folder, names: Collection[str]) -> Whole | None:
    """The content of a folder that may be exchanged; None where it may not. `names` are files that are parc's
    own beside those that its manifests list."""
    if not Path("/proc/self/cwd").is_symlink() or folder.path == folder.path.parent:
        return None
    folders: dict[str, int] = {}
    files: dict[str, int] = {}
    for name, status in _entries(folder):
        if status.st_uid != os.geteuid() or len(files) > _MOST_ENTRIES:
            return None
        if stat.S_ISDIR(status.st_mode):
            folders[name] = stat.S_IMODE(status.st_mode)
        elif stat.S_ISREG(status.st_mode):
            files[name] = stat.S_IMODE(status.st_mode)
        else:
            return None
    used = {str(above) for name in files for above in Path(name).parents}
    if not (
        files.keys() <= {*names, *known_names(folder, files)} and folders.keys() <= used | {"."}
    ):
        return None
    if any(_has_attributes(folder, name) for name in folders) or _is_worked_in(folder.path):
        return None
    return Whole(folders, files)


def _entries(folder: Folder) -> Iterator[tuple[str, os.stat_result]]:
    """All that is below the folder, itself under the name "."."""
    yield ".", os.fstat(folder.number)
    waiting = [""]
    while waiting:
        above = waiting.pop()
        with folder.below(above) as opened:
            for last in os.listdir(opened.number):
                found = os.stat(last, dir_fd=opened.number, follow_symlinks=False)
                name = f"{above}/{last}" if above else last
                yield name, found
                if stat.S_ISDIR(found.st_mode):
                    waiting.append(name)


def _has_attributes(folder: Folder, name: str) -> bool:
    """Whether a folder has lists of rights or other attributes, which would be lost."""
    with suppress(OSError), folder.below("" if name == "." else name) as opened:
        return not set(os.listxattr(opened.number)) <= _OF_THE_SYSTEM
    return False


def _is_worked_in(path: Path) -> bool:
    """Whether a process of this machine has its working folder there."""
    with os.scandir("/proc") as found:
        for process in found:
            if process.name.isdecimal():
                with suppress(OSError):
                    place = os.readlink(f"/proc/{process.name}/cwd")
                    if place == str(path) or place.startswith(f"{path}/"):
                        return True
    return False


def exchanged(
    folder: Folder, found: Whole, changed: Mapping[str, bytes | None], scripts: frozenset[str]
) -> bool:
    """Whether the folder is now a new one with these files changed, which it is as a whole or not at all;
    False where this file system or its rights do not allow it. Raises `OSError`."""
    done = False
    try:
        with folder_at(folder.path.parent) as above, above.temporary() as new:
            _fill(new, folder, found, changed, scripts)
            if os.fstat(new.number).st_gid != os.fstat(folder.number).st_gid:
                return False
            _exchange(above.number, new.path.name, folder.path.name, bool(found.files))
            done = True
            sync_folder(above.number)
            _keep_latecomers(folder, found, above)
    except OSError as error:
        if not done and error.errno not in _NOT_HERE:
            raise
    return done


def _fill(
    new: Folder,
    folder: Folder,
    found: Whole,
    changed: Mapping[str, bytes | None],
    scripts: frozenset[str],
) -> None:
    """Changed files are written, others keep their inode. The manifests come first: they list the rest."""
    for name in sorted(changed, key=lambda name: (not is_manifest(name), name)):
        content = changed[name]
        if content is not None:
            mode = found.files.get(name)
            new.create(name, content, mode)
            if name in scripts:
                new.let_run(name)
    for name in found.files.keys() - changed.keys():
        with folder.parent(name) as (old, last), new.parent(name, make=True) as (to, at):
            os.link(last, at, src_dir_fd=old, dst_dir_fd=to, follow_symlinks=False)
    places = {str(above) for name in {*changed, *found.files} for above in Path(name).parents}
    for name in places | {"."}:
        with suppress(FileNotFoundError), new.below("" if name == "." else name) as opened:
            if name in found.folders:
                os.fchmod(opened.number, found.folders[name])
            sync_folder(opened.number)


def _exchange(above: int, new: str, old: str, holds_files: bool) -> None:
    """By Linux's renameat2(2), as glibc and musl call it; an empty folder any rename replaces."""
    if not holds_files:
        os.rename(new, old, src_dir_fd=above, dst_dir_fd=above)
        return
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(above, os.fsencode(new), above, os.fsencode(old), _EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _keep_latecomers(old: Folder, found: Whole, above: Folder) -> None:
    """Puts into the new folder what somebody has put into the old one since it was looked at."""
    with above.below(old.path.name) as new:
        for name, status in _entries(old):
            if stat.S_ISREG(status.st_mode) and name not in found.files and not new.status(name):
                new.take(name, old, name)
