"""A script's repository -> the releases that its files pin, and the options that its own Python declares.

Nothing runs. Files are read below the folders that the user named, links are not followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path

from ..dsl.inputs.files import first_bytes, is_outside
from .pins import Pins, is_pinning, pins_of

#: Of one repository: Python files, their bytes, and all that is looked at for them.
_MOST_FILES, _MOST_BYTES, _MOST_ENTRIES = 4_000, 48 * 1024 * 1024, 60_000
#: Of one file; lock files are the longest.
_LONGEST = 4 * 1024 * 1024
#: Files of a folder that may pin releases, of which more are not looked at.
_MOST_PINNING = 40
_SKIPPED = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", "site-packages"}
#: A folder that has one of them is a repository, or a package with a release of its own.
_TOPS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
#: Where a repository keeps requirements and images, beside its own folder.
_PINNING_FOLDERS = ("", "requirements", "docker", ".devcontainer")

_ARGUMENT = re.compile(
    r"(?:add_argument|\boption)\(\s*[\"']-{1,2}([\w.-]+)[\"'](?:\s*,\s*[\"']-{1,2}([\w.-]+)[\"'])?"
)
#: A field of a class, of which parsers of dataclasses make an option; a parameter of a function ends with a
#: comma.
_FIELD = re.compile(
    r"^(?:\t| {2}| {4})(\w+)[ \t]*:[ \t]*[A-Za-z\"'](?![^\n]*,[ \t]*$)", re.MULTILINE
)


@dataclass(eq=False)
class Checkout:
    """Asks the repositories around scripts, whose paths are relative to `start`; nothing of what lies outside
    of `roots` is read. With no roots it knows nothing."""

    start: Path = field(default_factory=Path)
    roots: Sequence[Path] = ()

    def __post_init__(self) -> None:
        self._above = cache(self._places)
        self._top = cache(self._repository)
        self._options = cache(_declared)
        self._pinned = cache(_pins)

    def declares(self, option: str, script: str) -> bool:
        """Whether the Python of the script's repository declares an option, with `-` or `_`."""
        top = self._top(os.path.dirname(script))
        return top is not None and _plain(option) in self._options(top)

    def pins(self, package: str, script: str) -> Pins | None:
        """Releases of a package that the nearest folder upwards allows which names any."""
        found = (
            self._pinned(str(place), package) for place in self._above(os.path.dirname(script))
        )
        return next((each for each in found if each is not None), None)

    def _repository(self, folder: str) -> str | None:
        """The folder of the nearest repository or package; the last one that may be read without any."""
        above = self._above(folder)
        own = (place for place in above if any((place / name).exists() for name in _TOPS))
        last = next(own, above[-1] if above else None)
        return None if last is None else str(last)

    def _places(self, folder: str) -> list[Path]:
        """A folder and those above it that may be read, the nearest first."""
        own = Path(os.path.realpath(self.start / folder))
        roots = [os.path.realpath(root) for root in self.roots]
        return [
            place
            for place in (own, *own.parents)
            if any(place.is_relative_to(root) for root in roots) and not is_outside(place)
        ]


def _plain(option: str) -> str:
    return option.lstrip("-").partition("=")[0].replace("-", "_")


def _pins(folder: str, package: str) -> Pins | None:
    texts = (_text(path) for path in _pinning(folder))
    return pins_of(package, texts)


def _pinning(folder: str) -> Iterator[str]:
    for inner in _PINNING_FOLDERS:
        place = os.path.join(folder, inner) if inner else folder
        names = [
            entry.name
            for entry in _entries(place)
            if is_pinning(entry.name, inner) and entry.is_file(follow_symlinks=False)
        ]
        yield from (os.path.join(place, name) for name in sorted(names)[:_MOST_PINNING])


def _declared(top: str) -> frozenset[str]:
    """The names of all options that Python files below a folder declare; none where there is too much of it
    to be one program."""
    found: set[str] = set()
    size = 0
    for count, path in enumerate(_python_files(top)):
        text = _text(path)
        size += len(text)
        if count == _MOST_FILES or size > _MOST_BYTES:
            return frozenset()
        if "add_argument" in text or ".option(" in text:
            for match in _ARGUMENT.finditer(text):
                found |= {_plain(name) for name in match.groups() if name}
        if "class " in text:
            found.update(_FIELD.findall(text))
    return frozenset(found)


def _python_files(top: str) -> Iterator[str]:
    waiting, left = [top], _MOST_ENTRIES
    while waiting and left > 0:
        folder = waiting.pop()
        for entry in _entries(folder):
            left -= 1
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED:
                    waiting.append(entry.path)
            elif entry.name.endswith(".py") and entry.is_file(follow_symlinks=False):
                yield entry.path


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(islice(entries, _MOST_ENTRIES))
    except OSError:
        return []


def _text(path: str) -> str:
    """A file's characters, a byte each: what is looked for is ASCII."""
    try:
        return first_bytes(path, _LONGEST).decode("latin-1")
    except (OSError, ValueError):
        return ""
