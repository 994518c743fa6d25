"""Folders -> their launch files: what starts or configures training, less what is left out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends import readers
from ..backends.launch_files import config_files
from ..backends.reader import ConfigFile
from ..dsl.inputs.files import first_bytes, is_pointer, text_of
from ..reading.kubernetes.manifest import is_manifest

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

#: Bytes of a file in a folder by which it is recognised as a launch file.
_SNIFFED_BYTES = 256 * 1024
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
    """What a search leaves out: `patterns` are those of .gitignore, below `root`."""

    root: Path = field(default_factory=Path)
    patterns: tuple[str, ...] = ()

    def out(self, path: str) -> bool:
        """Whether a pattern names this file, or a folder that it is in; a folder's path ends with /."""
        return bool(self.patterns) and _says(_spec(self.patterns), self.root, path) is True


def within(folder: str, left: Left) -> Iterator[str]:
    """The launch files below a folder, in order of their names; links to folders are not followed."""
    above = _above(Path(folder).absolute())
    ignores: dict[str, list[Left]] = {}
    for root, folders, names in os.walk(folder):
        here = ignores[root] = [*ignores.get(os.path.dirname(root), above), *_own(Path(root))]
        kept = (name for name in folders if name not in _SKIPPED_FOLDERS)
        folders[:] = sorted(
            each for each in kept if not _out(os.path.join(root, each, ""), here, left)
        )
        for name in sorted(names):
            path = os.path.normpath(os.path.join(root, name))
            if os.path.isfile(path) and not _out(path, here, left) and is_launch_file(path):
                yield path


def _out(path: str, ignores: Iterable[Left], left: Left) -> bool:
    """The file nearest to the path decides, and in it the last pattern, as in git."""
    if left.out(path):
        return True
    said = [_says(_spec(each.patterns), each.root, path) for each in ignores]
    return next((one for one in reversed(said) if one is not None), False)


def _says(spec: GitIgnoreSpec, root: Path, path: str) -> bool | None:
    """Whether patterns below `root` ignore a path; None where none of them names it."""
    relative = os.path.relpath(path, root)
    if relative.startswith(os.pardir) or relative == os.curdir:
        return None
    name = relative.replace(os.sep, "/") + ("/" if path.endswith(os.sep) else "")
    return spec.check_file(name).include


@cache
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)


def _above(folder: Path) -> list[Left]:
    """The .gitignore files of the folders above, from the root of the repository down."""
    found: list[Left] = []
    if (folder / ".git").exists():
        return found
    for place in folder.parents:
        found = [*_own(place), *found]
        if (place / ".git").exists():
            return found
    return []


def _own(folder: Path) -> list[Left]:
    try:
        lines = text_of(folder / ".gitignore").splitlines()
    except (OSError, ValueError):
        return []
    return [Left(folder.absolute(), tuple(lines))]


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
        return is_manifest(text) or any(kind.tells and kind.tells(text) for kind in kinds)
    return re.search(telling(), text, re.MULTILINE) is not None


def telling() -> str:
    """A pattern of what starts training, with those of the frameworks."""
    return "|".join([_LAUNCHES, *(each.telling for each in readers() if each.telling)])


def _config_kinds(suffix: str) -> list[ConfigFile]:
    return config_files().get(suffix.removeprefix("."), [])
