"""Files that a script names -> text, below the folders that the user named."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from ..dsl.inputs.budget import MOST_FOLLOWED
from ..dsl.inputs.files import Outside, OverLimit, is_outside, reason_of, text_of
from .submitters import made_before

#: Most names of a folder of checkpoints: one for each rank.
_MOST_NAMES = 100_000
#: Most pages of a folder that are looked at.
_MOST_PAGES = 50


@dataclass
class NamedFolders:
    """Gives the texts of files below some folders, links resolved; `refused` says why others are not read,
    of which those `beyond` exceed a limit. `bytes` are those of all texts that are still followed.

    Paths that are not absolute start at `start`. A call returns None for what is not there, lies outside of
    `roots` (`start` unless given), or is refused.
    """

    start: Path
    roots: Sequence[Path] = ()
    refused: dict[str, str] = field(default_factory=dict)
    beyond: list[str] = field(default_factory=list)
    bytes: int = MOST_FOLLOWED
    _found: dict[str, str | None] = field(default_factory=dict, repr=False)

    def __call__(self, path: str) -> str | None:
        if path not in self._found:
            self._found[path] = self._read(path)
        return self._found[path]

    def has_folder(self, folder: str, script: str) -> bool:
        """Whether a relative folder is there, seen from the start or from a script's folder or one above it,
        or a page there or in `docs` (`*.md`) says to make it, or starts the script by bash and not by sbatch,
        or a script there makes it that submits this one or sets up.

        Where a job is submitted is not written in its script: mostly at the root of its repository.
        """
        if os.path.isabs(folder):
            return False
        places = [Path(self.start), *Path(self.start, script).parents]
        here = [place for place in places if _inside(place, (self.start, *self.roots))]
        makes = re.compile(
            rf"""^(?>.*?\bmkdir\b).*[\s"'](?:\./)?{re.escape(folder.removeprefix('./'))}(?:[\s"'/`]|$)""",
            re.MULTILINE,
        )
        return any(
            os.path.isdir(os.path.join(place, folder))
            or any(_told(page, makes, os.path.basename(script)) for page in self._pages(place))
            or made_before(str(place), folder, script, self)
            for place in here
        )

    def in_checkout(self, name: str) -> Iterator[str]:
        """The paths from `start` that a name may mean which is relative to the folder of the repository, or
        leads through it or through one of its name: `/home/me/checkout/scripts/run.sh`."""
        parts = name.split("/")
        meant = [] if name.startswith("/") else [parts]
        if self._checkout.name in parts[:-1]:
            meant.append(parts[len(parts) - parts[-2::-1].index(self._checkout.name) - 1 :])
        for each in meant:
            path = os.path.relpath(os.path.join(self._checkout, *each), self.start)
            if not path.startswith(os.pardir):
                yield path

    @cached_property
    def _checkout(self) -> Path:
        """The folder of the repository that `start` is in; `start` itself outside of one."""
        start = Path(os.path.abspath(self.start))
        above = (start, *start.parents)
        return next((place for place in above if (place / ".git").exists()), start)

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder; none of a folder that lies outside or has too many."""
        place = Path(self.start, folder)
        if not _inside(place, self.roots or (self.start,)):
            return ()
        try:
            with os.scandir(place) as entries:
                found = tuple(entry.name for entry in islice(entries, _MOST_NAMES + 1))
        except (OSError, ValueError):
            return ()
        return found if len(found) <= _MOST_NAMES else ()

    def _pages(self, place: Path) -> Iterator[str]:
        """The pages in a folder and in its `docs`, README.md first."""
        for folder in (place, place / "docs"):
            try:
                names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
            except OSError:
                continue
            for name in sorted(names, key=lambda name: name != "README.md")[:_MOST_PAGES]:
                yield self(os.path.join(folder, name)) or ""

    def _read(self, path: str) -> str | None:
        try:
            target = os.path.realpath(os.path.join(self.start, path))
            if is_outside(target):
                raise Outside
            if not os.path.exists(target) or os.path.isdir(target):
                return None
            if not any(_within(target, root) for root in self.roots or (self.start,)):
                self.refused[path] = "it lies outside of the folders that were named"
                return None
            text = text_of(target)
            self.bytes -= sys.getsizeof(text)
            if self.bytes < 0:
                raise OverLimit(f"all that is followed has over {MOST_FOLLOWED:,} bytes")
            return text
        except (OSError, ValueError) as error:
            self.refused[path] = reason_of(error)
            if isinstance(error, OverLimit):
                self.beyond.append(path)
            return None


def _told(page: str, makes: re.Pattern[str], script: str) -> bool:
    """Whether a page says to make a folder, or that the script is started outside of jobs."""
    name = rf"\s(?:\S*/)?{re.escape(script)}(?![\w.-])"
    by_bash = re.search(rf"^[^\w\n]*(?:bash|sh){name}", page, re.MULTILINE)
    by_sbatch = rf"^(?>.*?\bsbatch\b).*{name}"
    return bool(makes.search(page) or (by_bash and not re.search(by_sbatch, page, re.MULTILINE)))


def _inside(place: Path, roots: Sequence[Path]) -> bool:
    """Whether a folder is one of some others or below one."""
    return any(_within(f"{os.path.realpath(place)}{os.sep}", root) for root in roots)


def _within(target: str, root: Path) -> bool:
    return target.startswith(os.path.realpath(root).rstrip(os.sep) + os.sep)
