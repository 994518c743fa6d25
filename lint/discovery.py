"""Folders -> their launch files: what starts or configures training, less what is left out."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends import readers
from ..backends.launch_files import config_files, starts_pods
from ..backends.reader import ConfigFile
from ..dsl.inputs.budget import DEEPEST_FOLDERS, Budget
from ..dsl.inputs.files import bytes_of, first_bytes, is_pointer
from ..reading.bash.script import is_pipeline
from .tracked import Tracked

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

#: Bytes of a file in a folder by which it is recognised as a launch file.
_SNIFFED_BYTES = 256 * 1024
#: Bytes of a .gitignore; of its patterns, the runs of stars between two slashes, and how many have so many.
_MOST_IGNORED, _MOST_STARS, _MOST_CUBES = 64 * 1024, 3, 20
_SKIPPED_FOLDERS = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox"}
_SCRIPTS = {
    "", ".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch", ".sl", ".sub", ".job", ".batch", ".pbs", ".qsub",
    ".lsf",
}  # fmt: skip
#: Directives of batch systems, launchers, and programs whose name says that they train, behind an interpreter
#: or a launcher of one's own. The launcher is atomic, `(?>...)`: it is looked for once in a line.
_LAUNCHES = (
    r"^#SBATCH\s+-|^#PBS\s+-|^#BSUB\s+-"
    r"|\btorchrun\b|torch\.distributed\.(?:run|launch)|\bdeepspeed\s+(?:[-$\"]|\S+\.py)"
    r"|\baccelerate\s+launch\b"
    r"|\b(?:llamafactory-cli|lmf|axolotl|swift|megatron|xtuner|tune|trl)\s+(?:train|pt|sft|rlhf|run|dpo|grpo|kto)\b"
    r"|(?:^|#)(?>[^\n#]*?\b(?:python[\d.]*|srun|mpirun|mpiexec|jsrun|aprun)\b)[^\n#]*"
    r"(?:\b|_)(?:pre_?train|fine_?tune|train(?:er|ing)?|sft|dpo|grpo|ppo|rlhf)(?:_\w{1,60})?(?:\.py\b|\s|$)"
)


@dataclass(frozen=True)
class Left:
    """Files that a search leaves out: `patterns` are those of .gitignore, below `root`."""

    root: Path = field(default_factory=Path)
    patterns: tuple[str, ...] = ()

    def out(self, path: str) -> bool:
        """Whether a pattern names this file, or a folder that it is in; a folder's path ends with /."""
        return bool(self.patterns) and _says(_spec(self.patterns), self.root, path) is True


def within(folder: str, left: Left, budget: Budget) -> Iterator[str]:
    """The launch files below a folder, in order of their names; links to folders are not followed."""
    base, tracked = os.path.abspath(folder), Tracked()
    waiting = [(folder, base, 0, _above(Path(base)))]
    while waiting:
        root, place, depth, ignores = waiting.pop()
        here = [*ignores, *_own(place)]
        inner: list[tuple[str, str, int, list[Left]]] = []
        for entry in _entries(root, budget):
            path, whole = os.path.join(root, entry.name), os.path.join(place, entry.name)
            if not budget.searches(path):
                return
            if entry.is_dir(follow_symlinks=False):
                if entry.name in _SKIPPED_FOLDERS or _out(
                    path, whole + os.sep, here, left, tracked
                ):
                    continue
                if depth == DEEPEST_FOLDERS:
                    budget.leave(
                        f"nested more than {DEEPEST_FOLDERS} folders deep", os.path.normpath(path)
                    )
                else:
                    inner.append((path, whole, depth + 1, here))
            elif _is_file(entry) and not _out(path, whole, here, left, tracked):
                path = os.path.normpath(path)
                if is_launch_file(path):
                    yield path
        waiting += reversed(inner)


def _entries(folder: str, budget: Budget) -> list[os.DirEntry[str]]:
    """Entries of a folder, in order of their names; of a large one, one more than may be looked at."""
    try:
        with os.scandir(folder) as found:
            return sorted(islice(found, max(budget.entries, 0) + 1), key=lambda entry: entry.name)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            budget.leave("a path that is longer than the system opens", folder)
        return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _out(path: str, whole: str, ignores: Sequence[Left], left: Left, tracked: Tracked) -> bool:
    """Whether the settings leave a path out, or .gitignore does and git does not track it; the whole path of
    a folder ends with /."""
    if left.out(path + os.sep if whole.endswith(os.sep) else path):
        return True
    return _ignored(whole, ignores) and whole not in tracked


def _ignored(whole: str, ignores: Sequence[Left]) -> bool:
    """The file nearest to the path decides, and in it the last pattern, as in git."""
    for each in reversed(ignores):
        name = whole[len(os.path.join(each.root, "")) :].replace(os.sep, "/")
        said = _spec(each.patterns).check_file(name).include
        if said is not None:
            return said
    return False


def _says(spec: GitIgnoreSpec, root: Path, path: str) -> bool | None:
    """Whether patterns below `root` ignore a path; None where none of them names it."""
    relative = os.path.relpath(path, root)
    if relative.startswith(os.pardir) or relative == os.curdir:
        return None
    name = relative.replace(os.sep, "/") + ("/" if path.endswith(os.sep) else "")
    return spec.check_file(name).include


@cache
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    """A pattern of more stars is left out, and so are others than the first few of the most: what is made of
    it for a match takes a power of a name's length, one more for each star."""
    from pathspec import GitIgnoreSpec

    stars = [_stars(each) for each in patterns]
    cubes = accumulate(number == _MOST_STARS for number in stars)
    kept = [
        each
        for each, number, cube in zip(patterns, stars, cubes, strict=True)
        if number < _MOST_STARS or (number == _MOST_STARS and cube <= _MOST_CUBES)
    ]
    return GitIgnoreSpec.from_lines(kept)


def _stars(pattern: str) -> int:
    """The runs of stars between two slashes, or the parts that are `**`, whichever are more."""
    parts = pattern.split("/")
    return max(parts.count("**"), *(len(re.findall(r"\*+", part)) for part in parts))


def _above(folder: Path) -> list[Left]:
    """The .gitignore files of the folders above, from the root of the repository down."""
    found: list[Left] = []
    if (folder / ".git").exists():
        return found
    for place in folder.parents:
        found = [*_own(str(place)), *found]
        if (place / ".git").exists():
            return found
    return []


def _own(folder: str) -> list[Left]:
    try:
        data = bytes_of(os.path.join(folder, ".gitignore"), _MOST_IGNORED)
    except (OSError, ValueError):
        return []
    lines = data.decode("utf-8-sig", errors="replace").splitlines()
    return [Left(Path(folder), tuple(lines))]


def is_launch_file(path: str) -> bool:
    """Whether a file starts training or configures it, by its first part."""
    kind = Path(path).suffix.lower()
    if kind not in _SCRIPTS and not any(each.tells for each in _config_kinds(kind)):
        return False
    try:
        data = first_bytes(path, _SNIFFED_BYTES + 1)
    except (OSError, ValueError):
        return False
    if b"\0" in data or is_pointer(data) or (_config_kinds(kind) and len(data) > _SNIFFED_BYTES):
        return False
    return looks_like_launch(path, data.decode("utf-8", errors="replace"))


def looks_like_launch(path: str, text: str) -> bool:
    """Whether a script starts something, or a configuration file has what its framework's have."""
    if kinds := _config_kinds(Path(path).suffix.lower()):
        return starts_pods(text) or any(kind.tells and kind.tells(text) for kind in kinds)
    return not is_pipeline(path, text) and bool(re.search(telling(), text, re.MULTILINE))


def telling() -> str:
    """A pattern of what starts training, with those of the frameworks."""
    return "|".join([_LAUNCHES, *(each.telling for each in readers() if each.telling)])


def _config_kinds(suffix: str) -> list[ConfigFile]:
    return config_files().get(suffix.removeprefix("."), [])
