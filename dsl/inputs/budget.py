"""One run over foreign files -> how much of them it may still read, and what it left out, by reason.

Each file has limits of its own (documents.py, files.py). These hold for all files of a run together, so that
a folder ends soon whatever it holds. A run that reaches one goes on with what it has.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from .files import OverLimit

#: Folders in folders that are searched.
DEEPEST_FOLDERS = 64
#: Files and folders that a search looks at.
MOST_ENTRIES = 500_000
#: Launch files that are judged, and the bytes of their texts in memory.
MOST_FILES, MOST_BYTES = 5_000, 64 * 2**20
#: Bytes in memory of other files that they name, and of pages beside them.
MOST_FOLLOWED = 32 * 2**20
#: Jobs in them, and the facts and settings of all jobs.
MOST_JOBS, MOST_SETTINGS = 5_000, 500_000
#: Seconds of the processor for a run, and for its search.
MOST_SECONDS, SEARCH_SECONDS = 120.0, 60.0


@dataclass
class Visits:
    """How many steps a walk may take over what a text stands for, such as objects that hold each other."""

    most: int
    taken: int = 0

    def spend(self, count: int = 1) -> None:
        self.taken += count
        if self.taken > self.most:
            raise OverLimit(f"it stands for more than {self.most:,} values")


class Job(Protocol):
    """One job as a reader gives it."""

    @property
    def facts(self) -> Sequence[object]: ...
    @property
    def settings(self) -> Sequence[object]: ...


AnyJob = TypeVar("AnyJob", bound=Job)


@dataclass
class Budget:
    """The remainder of each limit; `left_out` are names by the reason for which they are not read."""

    entries: int = MOST_ENTRIES
    files: int = MOST_FILES
    bytes: int = MOST_BYTES
    jobs: int = MOST_JOBS
    settings: int = MOST_SETTINGS
    seconds: float = MOST_SECONDS
    search_seconds: float = SEARCH_SECONDS
    started: float = field(default_factory=time.process_time)
    left_out: dict[str, dict[str, None]] = field(default_factory=dict)

    def searches(self, name: str) -> bool:
        """Whether a search goes on to this file or folder; where not, all that comes after it is left out."""
        self.entries -= 1
        if self.entries < 0:
            return self._ended("the search", f"{MOST_ENTRIES:,} files and folders", name)
        if self._spent() > self.search_seconds:
            return self._ended("the search", _of_processor(self.search_seconds), name)
        return True

    def takes(self, name: str, text: str) -> bool:
        """Whether a run keeps the text of this launch file; where not, no other one after it."""
        self.files -= 1
        self.bytes -= sys.getsizeof(text)
        if self.files < 0:
            return self._ended("the run", f"{MOST_FILES:,} launch files", name)
        if self.bytes < 0:
            return self._ended("the run", f"{MOST_BYTES >> 20} MiB of launch files", name)
        return True

    def goes_on(self, name: str) -> bool:
        """Whether the jobs of this launch file are read."""
        if self.jobs < 0 or self.settings < 0:
            limit = f"{MOST_JOBS:,} jobs" if self.jobs < 0 else f"{MOST_SETTINGS:,} settings"
            self.leave(f"it comes after {limit}", name)
            return False
        return self.has_time(name)

    def has_time(self, name: str) -> bool:
        """Whether there is time to look at this launch file."""
        if self._spent() <= self.seconds:
            return True
        self.leave(f"it comes after {_of_processor(self.seconds)}", name)
        return False

    def spent_on(self, jobs: Sequence[AnyJob]) -> Iterator[AnyJob]:
        """Jobs that were read, which count."""
        for job in jobs:
            self.jobs -= 1
            self.settings -= len(job.facts) + len(job.settings)
            yield job

    def leave(self, reason: str, name: str) -> None:
        self.left_out.setdefault(reason, {})[name] = None

    def told(self) -> Iterator[tuple[str, str]]:
        """The first name that was left out for each reason, and that reason with the number of the others."""
        for reason, names in self.left_out.items():
            more = f", as are {len(names) - 1:,} more" if len(names) > 1 else ""
            yield next(iter(names)), f"{reason}{more}"

    def _ended(self, what: str, limit: str, name: str) -> bool:
        self.leave(f"{what} ends there, after {limit}, and leaves out what follows", name)
        return False

    def _spent(self) -> float:
        return time.process_time() - self.started


def _of_processor(seconds: float) -> str:
    return f"{seconds:g} s of the processor"
