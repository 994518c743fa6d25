"""A job's checkpoints by its files: when it writes them, where, and which one it resumes from."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..reading.facts import Setting, Unknown, text_of
from ..reading.placeholders import is_placeholder


@dataclass(frozen=True)
class Files:
    """The files around a job: `read` gives the text of one, None where it is not there, and `names` what lies
    in a folder."""

    read: Callable[[str], str | None] = lambda path: None
    names: Callable[[str], tuple[str, ...]] = lambda folder: ()


@dataclass(frozen=True)
class Kept:
    """The checkpoints that a job keeps; None stands for values that its files do not decide.

    `saves`: it writes checkpoints. `resumes`: a start goes on from the newest of them. `interval` and `steps`
    count optimizer steps. `handles` are the signals on which it writes one and ends. `leaves_early` says that
    it does so by a clock of its own. `at` is the setting that decides `saves` or `resumes`, where one does.
    """

    saves: bool | None = None
    resumes: bool | None = None
    interval: int | None = None
    steps: int | None = None
    folder: Setting | None = None
    interval_at: Setting | None = None
    handles: frozenset[str] | None = None
    leaves_early: bool = False
    at: Setting | None = None
    parts: tuple[Setting, ...] = ()
    """The settings whose joined values are the folder, where these are several."""

    @property
    def path(self) -> str | None:
        """The folder of the checkpoints without `.` and doubled slashes; None where it is not known."""
        settings = self.parts or ((self.folder,) if self.folder is not None else ())
        texts = [text_of(each) for each in settings]
        known = [text for text in texts if text and not _is_to_fill_in(text)]
        if not known or len(known) < len(texts):
            return None
        return str(PurePosixPath(*known))


def _is_to_fill_in(path: str) -> bool:
    """Whether a path holds, or is, what its reader is to replace."""
    return is_placeholder(path) or any(mark in path for mark in "<>{}")


def undecided(setting: Setting | None) -> bool:
    """Whether a setting is given with a value that the files do not decide."""
    return setting is not None and any(isinstance(value, Unknown) for value in setting.values)
