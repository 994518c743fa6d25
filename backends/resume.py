"""Whether a run's checkpoint loads after its layout changed: a framework's table and two runs -> a verdict.

The table is `RESUME` of `resume.py` in the framework's package: a row for each change, with the framework's
own words and the line of its source. Nothing here loads a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ..reading.facts import LaunchConfig

#: What a checkpoint holds beside the step, in the order in which it is told.
PARTS = ("weights", "moments", "rng", "data")
#: What a part is called in a sentence.
WORDS = {
    "weights": "weights",
    "moments": "optimizer's moments",
    "rng": "random numbers",
    "data": "position in the data",
}
#: What is compared of two layouts, in the order in which changes are told.
CHANGES = ("tp", "pp", "vpp", "cp", "ep", "etp", "dp", "zero")

Answer = Literal["whole", "losses", "no"]


#: A setting of the new job by which it resumes what its target can.
ELASTIC = "train.elastic=true"


@dataclass(frozen=True)
class Saved:
    """One side of a change: the framework, its release ("" where nobody says), the layout by the compiler's
    names with `dp` for all replicas, and what else decides the form of a checkpoint (`Resume.form`).

    `draws` says whether training draws random numbers, as dropout does; `folder` is the name of its run's
    folder, "" where nothing tells. `step` and `ranks` are of a checkpoint that was read, and `notes`
    say where it differs from the files of the run.
    """

    name: str
    framework: str
    release: str
    layout: Mapping[str, int]
    form: Mapping[str, str] = field(default_factory=dict)
    draws: bool = False
    folder: str = ""
    step: int | None = None
    ranks: int = 0
    notes: tuple[str, ...] = ()

    def value(self, change: str) -> str | None:
        """A run's value of a degree or of its form; None where it does not state one."""
        if change in self.form:
            return self.form[change]
        return str(self.layout[change]) if change in self.layout else None


@dataclass(frozen=True)
class Cure:
    """A way to resume after all: `text` is an `option` to start the new run with, a `command` to run once
    before, or a `setting` of the new job. `lost` are the parts that are lost even so.
    """

    kind: Literal["option", "command", "setting"]
    text: str
    why: str
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """Effect of a change on a checkpoint, where `when(old, new)` holds, which `where` says in words.

    `stops` are the framework's words where it ends before the first step, "" where it goes on, and `lost` the
    parts that it then goes on without. `cures` help with the checkpoint that is there; `before` is what the
    old job would have had to say before its first run. `source` is a line of the framework.
    """

    changes: tuple[str, ...]
    source: str
    stops: str = ""
    lost: tuple[str, ...] = ()
    cures: tuple[Cure, ...] = ()
    before: str = ""
    note: str = ""
    where: str = ""
    when: Callable[[Saved, Saved], bool] = lambda old, new: True
    since: str = ""
    """The first release that stops, where older ones go on."""


@dataclass(frozen=True)
class Resume:
    """A framework's table. `form(config, release)` is what its launch files say of the form of a checkpoint,
    by name, `draws(config)` whether training draws random numbers, and `never` are parts that no checkpoint
    has."""

    rows: tuple[Row, ...]
    form: Callable[[LaunchConfig, str], Mapping[str, str]]
    draws: Callable[[LaunchConfig], bool] = lambda config: False
    never: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A change with the row that tells of it; `row` is None where nothing is known."""

    name: str
    old: str
    new: str
    row: Row | None


@dataclass(frozen=True)
class Verdict:
    """Whether the new side resumes the old one's checkpoint as both stand, and what each change does."""

    old: Saved
    new: Saved
    changes: tuple[Change, ...]
    never: tuple[str, ...] = ()
    problem: str = ""
    untold: tuple[str, ...] = ()
    """What a checkpoint that was read does not tell, of what may stop the new side."""

    @property
    def answer(self) -> Answer:
        rows = [change.row for change in self.changes]
        if self.problem or any(row is None or row.stops for row in rows):
            return "no"
        return "losses" if any(row and row.lost for row in rows) else "whole"

    @property
    def parts(self) -> dict[str, str]:
        """Outcome of each part: `kept`, `lost`, `not saved` by the framework, or `-` where the run stops."""
        lost = {part for change in self.changes if change.row for part in change.row.lost}
        if self.answer == "no":
            return dict.fromkeys(PARTS, "-")
        found = {part: "lost" if part in lost else "kept" for part in PARTS}
        found |= dict.fromkeys(self.never, "not saved")
        return found if self.new.draws else found | {"rng": "not drawn"}

    @property
    def cures(self) -> tuple[Cure, ...]:
        """Each once, in the order of the changes."""
        rows = [change.row for change in self.changes if change.row]
        return tuple(dict.fromkeys(cure for row in rows for cure in row.cures))

    @property
    def before(self) -> tuple[str, ...]:
        rows = [change.row for change in self.changes if change.row]
        return tuple(dict.fromkeys(row.before for row in rows if row.before))


def judged(old: Saved, new: Saved, resume: Resume) -> Verdict:
    """The verdict of a framework's table on two of its runs."""
    changes = tuple(_changes(old, new, resume))
    return Verdict(old, new, changes, resume.never, untold=tuple(_untold(old, new, resume)))


def _untold(old: Saved, new: Saved, resume: Resume) -> Iterator[str]:
    stopping = {name for row in resume.rows if row.stops for name in row.changes}
    for name in dict.fromkeys((*new.form, *CHANGES)):
        known = old.value(name) is not None or new.value(name) is None
        if old.step is not None and name in stopping and not known:
            yield name


def _changes(old: Saved, new: Saved, resume: Resume) -> Iterator[Change]:
    for name in dict.fromkeys((*old.form, *CHANGES)):
        before, after = old.value(name), new.value(name)
        if before is None or after is None or before == after:
            continue
        fitting = (row for row in resume.rows if name in row.changes and row.when(old, new))
        yield Change(name, before, after, _of(next(fitting, None), new))


def _of(row: Row | None, new: Saved) -> Row | None:
    """The row for a side: random numbers that it does not draw are no loss."""
    if row is None or new.draws or "rng" not in row.lost:
        return row
    return replace(row, lost=tuple(part for part in row.lost if part != "rng"))
