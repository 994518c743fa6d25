"""A path that is to be written -> the place that it names, or why parc goes nowhere near it.

Links are state that a repository can carry. One that may have come with a repository is followed inside of
it alone: the command line names what lies outside by its own path.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from parc.dsl.inputs.files import reason_of

#: What HFS+ leaves out of a name before it compares it, as in Git's utf8.c:next_hfs_char.
_IGNORED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
#: NTFS opens `.git` under these names too, as in Git's path.c:is_ntfs_dotgit.
_GIT = re.compile(r"(?:\.git|git~1)[ .]*(?::.*)?", re.IGNORECASE | re.DOTALL)
#: Bytes of the longest part of a name.
_LONGEST = 255


class Refused(ValueError):
    """Why a path is not followed, in the words of a message."""


class InTheWay(Refused):
    """Something at a name below a folder, and is neither a plain file nor nothing."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"`{name}` is {what}")
        self.name, self.what = name, what


def why(error: OSError | ValueError) -> str:
    """Why a place is not written, in the words of a message."""
    return str(error) if isinstance(error, Refused) else reason_of(error)


def is_git(part: str) -> bool:
    """Whether some file system takes a part of a path for Git's own folder."""
    return any(_GIT.fullmatch(each.translate(_IGNORED)) for each in part.split("\\"))


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a name below a folder. Raises `Refused` for one that may lead out of it, or into Git's."""
    parts = tuple(name.split("/"))
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise Refused(f"{name!r} is no path below a folder")
    refuse_git(parts, name)
    return parts


def refuse_git(parts: tuple[str, ...], path: object) -> None:
    if any(map(is_git, parts)):
        raise Refused(f"`{path}` is in a folder of Git, which is never written to")


def is_writable_name(name: object) -> bool:
    """Whether parc could have written a file of this name: it writes none that is hidden or not printable."""
    if not isinstance(name, str) or not name.isprintable() or "\\" in name:
        return False
    try:
        parts = parts_of(name)
    except Refused:
        return False
    return not any(part.startswith(".") or len(os.fsencode(part)) > _LONGEST for part in parts)


def kind_of(mode: int) -> str:
    """The kind of a file in words, by the mode that `lstat` gives."""
    kinds = {
        stat.S_IFLNK: "a link",
        stat.S_IFDIR: "a folder",
        stat.S_IFREG: "a file",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def resolved(path: str | os.PathLike[str]) -> Path:
    """The path without links. Raises `Refused` for a place of Git's, and where a link leads out of what may
    have brought it, and `OSError`."""
    text = os.fspath(path)
    if "\0" in text:
        raise Refused("its name has a zero byte")
    here = os.path.realpath(os.getcwd())
    for part, is_last in _with_last(text):
        at = {"..": os.path.dirname(here), "/": "/"}.get(part, os.path.join(here, part))
        here = _followed(at, here, is_last) if os.path.islink(at) else at
    refuse_git(Path(here).parts, path)
    return Path(here)


def _with_last(text: str) -> Iterator[tuple[str, bool]]:
    parts = ["/"] if text.startswith("/") else []
    parts += [part for part in text.split("/") if part not in ("", ".")]
    return ((part, number == len(parts)) for number, part in enumerate(parts, 1))


def _followed(link: str, folder: str, is_last: bool) -> str:
    """Where a link leads. One in the home folder is the user's own, one above the current folder the
    system's; others may have come with what is around them, and stay in it."""
    place, root = os.path.realpath(link), _carrier(folder)
    if root is None and is_last and folder != _home():
        root = folder
    if root is not None and not _is_inside(place, root):
        raise Refused(f"`{link}` is a link that leads out of `{root}`: name `{place}` itself")
    return place


def _carrier(folder: str) -> str | None:
    """The carrier that may have brought a link that lies in a folder: the repository around it, the current
    folder, or what lies in the home folder. None for the home folder's own links, and for those of the
    system.
    """
    home, current = _home(), os.path.realpath(os.getcwd())
    if folder == home:
        return home if _is_repository(home) else None
    for above in map(str, (Path(folder), *Path(folder).parents)):
        if _is_repository(above) and not _is_inside(home, above):
            return above
    if _is_inside(folder, current) and not _is_inside(home, current):
        return current
    return (
        os.path.join(home, Path(folder).relative_to(home).parts[0])
        if _is_inside(folder, home)
        else None
    )


def _is_repository(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, ".git"))


def _home() -> str:
    return os.path.realpath(os.path.expanduser("~"))


def _is_inside(place: str, root: str) -> bool:
    return root == "/" or place == root or place.startswith(f"{root}/")
