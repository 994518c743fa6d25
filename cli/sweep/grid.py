"""`--over PATH=VALUE,VALUE` -> the grid of all combinations, of which each is one set of overrides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import parc
from parc.dsl import codes as language
from parc.dsl.diagnostics import Diagnostic, JobError, Source, Span

from .. import codes

#: Points of the largest grid: 8 bytes of memory are kept of each.
MOST_POINTS = 1_000_000
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
#: What no other value of another axis could mend: the path or the value itself cannot be read.
_UNREADABLE = {
    language.SYNTAX,
    language.UNKNOWN_NAME,
    language.UNKNOWN_UNIT,
    language.WRONG_DIMENSION,
    language.WRONG_KIND,
    language.UNKNOWN_WORD,
    language.BAD_OVERRIDE,
    language.BAD_RANGE,
    language.NOT_A_CONDITION,
    language.MISPLACED,
}


@dataclass(frozen=True)
class Axis:
    """A path as of `--set`, and the texts of the values that it takes in turn."""

    path: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The path's last word."""
        return self.path.rpartition(".")[2]

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each value."""
        return {value: place for place, value in enumerate(self.values)}


@dataclass(frozen=True)
class Grid:
    """All combinations of the axes' values; the last axis changes fastest."""

    axes: tuple[Axis, ...]

    def __len__(self) -> int:
        return prod(len(axis.values) for axis in self.axes)

    def at(self, index: int) -> dict[str, str]:
        """The values of one point by path."""
        found: dict[str, str] = {}
        for axis in reversed(self.axes):
            index, place = divmod(index, len(axis.values))
            found[axis.path] = axis.values[place]
        return dict(reversed(found.items()))

    def index(self, values: Mapping[str, str]) -> int | None:
        """The point with these values by path; None where they are not of this grid."""
        index = 0
        if values.keys() != {axis.path for axis in self.axes}:
            return None
        for axis in self.axes:
            if (place := axis.places.get(values[axis.path])) is None:
                return None
            index = index * len(axis.values) + place
        return index


def overrides(values: Mapping[str, str]) -> list[str]:
    """The texts of `--set` that make a job that of a point."""
    return [f"{path}={value}" for path, value in values.items()]


def read_grid(texts: Sequence[str]) -> Grid:
    """The grid of all `--over` texts. Raises `JobError` with every complaint about them."""
    source = Source("--over", "\n".join(text.replace("\n", " ") for text in texts))
    axes: list[Axis] = []
    complaints: list[Diagnostic] = []
    start = 0
    for text in texts:
        span = Span(source, start, start + len(text))
        try:
            axes.append(_axis(span, [axis.path for axis in axes]))
        except JobError as error:
            complaints += error.diagnostics
        start += len(text) + 1
    grid = Grid(tuple(axes))
    if not complaints and len(grid) > MOST_POINTS:
        message = f"the grid has {len(grid):,} points, at most {MOST_POINTS:,} are swept"
        complaints.append(Diagnostic(codes.BAD_AXIS, message, help="leave out some values"))
    if complaints:
        raise JobError(complaints)
    return grid


def _axis(span: Span, earlier: Sequence[str]) -> Axis:
    path, equals, rest = span.text.partition("=")
    path = path.strip()
    if not (path and equals and rest.strip()):
        message = f"`{span.text}` is not of the form path=value,value"
        raise _bad(message, span, "such as `cluster.nodes=8,16,32`")
    if path in earlier:
        message = f"`{path}` is swept twice"
        raise _bad(message, span, "give all of its values in one --over")
    values: dict[str, None] = {}
    for place in _pieces(span, len(span.text) - len(rest)):
        value = place.text.strip()
        if not value:
            raise _bad(f"a value of `{path}` is empty", span, "values stand between single commas")
        if value in values:
            raise _bad(f"`{path}` takes `{value}` twice", place, "give each value once")
        values[value] = None
    return Axis(path, tuple(values))


def _pieces(span: Span, begin: int) -> Iterator[Span]:
    """The pieces between commas that are in no brackets and no quotes."""
    depth, quoted = 0, False
    first, text = begin, span.text
    for place, letter in enumerate(text[begin:], begin):
        if letter == '"' and text[place - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += _BRACKETS.get(letter, 0)
            if letter == "," and depth <= 0:
                yield Span(span.source, span.start + first, span.start + place)
                first = place + 1
    yield Span(span.source, span.start + first, span.end)


def _bad(message: str, span: Span, help: str) -> JobError:
    return JobError([Diagnostic(codes.BAD_AXIS, message, span, help=help)])


def refuse_unreadable(job: str, grid: Grid, fixed: Sequence[str]) -> None:
    """Raises `JobError` for each path and value that no combination could make a setting of the job.

    What only some combinations are, such as a batch that does not divide, is for their own rows to say.
    """
    complaints: list[Diagnostic] = []
    for axis in grid.axes:
        for value in axis.values:
            try:
                parc.load(job, [f"{axis.path}={value}", *fixed])
            except JobError as error:
                complaints += filter(_is_unreadable, error.diagnostics)
    if complaints:
        raise JobError([_of_over(each) for each in dict.fromkeys(complaints)])


def _is_unreadable(complaint: Diagnostic) -> bool:
    return (
        complaint.code in _UNREADABLE
        and complaint.span is not None
        and complaint.span.source.name == "--set"
    )


def _of_over(complaint: Diagnostic) -> Diagnostic:
    """The complaint as one about `--over`, whose value was tried as `--set`."""
    if (span := complaint.span) is None:
        return complaint
    source = Source("--over", span.source.text.partition("\n")[0])
    return replace(complaint, span=Span(source, span.start, span.end))
