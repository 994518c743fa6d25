"""A space too large to price whole -> the layouts that answer questions about it, found best bound first.

Blocks are refined level by level (`bounds.LEVELS`), those with the best bounds first, and dropped as soon as
their bounds show that they hold no layout that any question asks for. What is left is priced in batches, of
which the answers alone are kept, so that memory stays bounded. The answers are complete: every layout that is
not priced is in a block whose bounds rule it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..algebra import Integers, Mask
from ..variables import DERIVED, ORDER, PLACE, SEARCHED
from .bounds import LEVELS, Bounds, Least, first_level, levels
from .measured_layouts import measured
from .progress import Progress
from .questions import CONTENDERS, BlockBounds, Question, of_plan, of_refusal
from .simplicity import CROWDED
from .space import DEGREES, Space
from .sweep import Explored, Swept, objectives, score, slack, sweep

#: Most layouts of a space that is priced whole.
WHOLE = 2**13
#: Layouts that are priced at once.
PRICED = 2**13
#: Blocks that are refined at once, by level, the last ones to layouts: few at first, so that a good layout is
#: known soon.
FEWEST, MOST = 2**8, 2**15
#: Blocks of the last level whose layouts are joined at once.
SMALL = 2**11
#: Rows and candidates of a decision that are joined at once.
JOINED = 2**18
#: Divisors of a number of GPUs, of which few have more.
DIVISORS = 2**8
#: Counts of nodes whose layouts are looked for at once where rules are left out.
NODES = 2**10
#: An objective that no layout reaches: `best` of a question without an answer.
NONE = np.iinfo(np.int64).max
#: Layouts that are kept where runs of some may change their order.
KEPT_WITH_RUNS = 2**12


def explored(space: Space, progress: Progress | None = None) -> Swept:
    """A space with its prices; of a large one what a plan needs to know."""
    if space.has_at_most(WHOLE):
        return sweep(space)
    search = BestFirst(space, progress=progress)
    search.answer(of_plan(space.case))
    return search.result()


def with_reasons(swept: Swept, progress: Progress | None = None) -> Swept:
    """The explored layouts, with all that the reasons need where no layout satisfies the goal."""
    if swept.explored is None or swept.best is not None:
        return swept
    kept = of_plan(swept.space.case)
    search = BestFirst(swept.explored.space, swept, swept.explored.priced, progress, kept)
    for question in of_refusal(swept.space.case):
        search.answer([question])
    return search.result()


def empty(space: Space) -> bool:
    """Whether the rules leave no layout."""
    return not _joins(space, space.blocks or {}, 0, [FEWEST] * len(ORDER))


def _joins(space: Space, columns: Mapping[str, Integers], level: int, batch: list[int]) -> bool:
    """Whether some row joins all decisions from a level of ORDER on, looked for in depth; `batch` are rows
    that are joined at once, by level."""
    if level == len(ORDER):
        return True
    columns = space.extend(columns, ORDER[level : level + 1])
    count, start = len(columns["nodes"]), 0
    while start < count:
        rows = slice(start, start + min(batch[level], max(1, JOINED // _choices(space, level + 1))))
        start = rows.stop
        batch[level] = min(2 * batch[level], MOST if level else NODES)
        if _joins(
            space, {name: column[rows] for name, column in columns.items()}, level + 1, batch
        ):
            return True
    return False


def _choices(space: Space, level: int) -> int:
    """Candidates that a row joins with at most; of a degree those that divide its GPUs."""
    name = SEARCHED[level]
    found = len(space.domains[name])
    return min(found, DIVISORS) if name in DEGREES else found


def exists(space: Space, question: Question) -> bool:
    """Whether a layout of the space is asked for."""
    search = BestFirst(space)
    search.answer([question])
    return search.swept is not None


@dataclass(frozen=True)
class Simpler:
    """How complicated the simplest known layout is whose first objective is no worse than each of `scores`,
    in rising order; the `last` is that of the worst layout that is kept for its rank."""

    scores: Integers
    effort: Integers
    last: int

    @classmethod
    def of(cls, swept: Swept) -> Simpler | None:
        rows = swept.by_objective
        if len(rows) < CONTENDERS or measured(swept.space.case):
            return None
        scores = score(objectives(swept.space.case)[0], swept)[rows]
        effort = np.minimum.accumulate(swept.effort(rows))
        return cls(scores, effort, int(scores[CONTENDERS - 1]))

    def leave(self, bounds: Integers, effort: Integers) -> Mask:
        """Which blocks may hold a layout of a better rank, or one that is simpler than all that are known to
        be no worse; `effort` is the least that their layouts may have."""
        known = np.searchsorted(self.scores, bounds, side="right")
        simplest = np.concatenate([[NONE], self.effort])[known]
        return np.asarray((bounds <= self.last) | (effort < simplest))


@dataclass
class BestFirst:
    """The answers so far to questions about a space: `swept` holds the layouts that answer them, and `priced`
    counts the layouts that were priced."""

    space: Space
    swept: Swept | None = None
    priced: int = 0
    progress: Progress | None = None
    _questions: list[Question] = field(default_factory=list)
    _asked: Sequence[Question] = ()
    _most: list[int] = field(default_factory=list)
    _simpler: Simpler | None = None
    _batch: list[int] = field(default_factory=lambda: [FEWEST] * len(LEVELS))

    @cached_property
    def _levels(self) -> tuple[tuple[str, ...], ...]:
        return levels(self.space)

    def answer(self, questions: Sequence[Question]) -> None:
        """Keeps the layouts that answer the questions, which have the same `of`, and earlier ones."""
        self._questions += questions
        self._asked = questions
        self._most = [NONE] * len(questions)
        if self.swept is not None:
            self._learn(self.swept)
        self._refine({}, 0)

    def result(self) -> Swept:
        """The layouts that are kept, with their prices."""
        none = np.zeros(0, dtype=np.int64)
        swept = self.swept or sweep(
            replace(self.space, blocks=dict.fromkeys((*SEARCHED, *DERIVED), none))
        )
        return replace(swept, explored=Explored(self.space, self.priced))

    def _refine(self, blocks: Mapping[str, Integers], level: int) -> None:
        if level == len(self._levels):
            for rows in _slices(len(blocks["nodes"]), SMALL):
                part = {name: column[rows] for name, column in blocks.items()}
                for layouts in _joined(self.space, part, [*ORDER]):
                    self._place(layouts)
            return
        names = self._levels[level]
        if level and not self.space.decides(names):
            self._refine(self.space.extend(blocks, names), level + 1)
            return
        found = (
            Bounds(self.space, self.space.extend(blocks, names))
            if level
            else first_level(self.space, names)
        )
        wanted = self._by_question(found)
        blocks, bounds = found.blocks, found.least
        order = self._by_bound(bounds)
        while len(order):
            order = order[self._needed(wanted, found)[order]]
            batch, order = np.split(order, [min(self._batch[level], self._most_blocks(level + 1))])
            self._batch[level] = min(2 * self._batch[level], MOST)
            if len(batch):
                self._refine({name: column[batch] for name, column in blocks.items()}, level + 1)

    def _most_blocks(self, level: int) -> int:
        """Blocks that are refined at once, so that the next level has not too many."""
        names = self._levels[level] if level < len(self._levels) else ()
        choices = math.prod(len(self.space.domains[name]) for name in names)
        return max(1, 4 * JOINED // choices)

    def _place(self, layouts: dict[str, Integers]) -> None:
        """Prices all placements of those layouts that may answer a question in any, the best bounds first."""
        self.priced += len(layouts["tp"])
        if not len(layouts["tp"]):
            return
        found = Bounds(self.space, layouts)
        wanted = self._by_question(found)
        order, size = self._by_bound(found.least), FEWEST
        while len(order):
            order = order[self._needed(wanted, found)[order]]
            batch, order = np.split(order, [size])
            size = min(2 * size, MOST)
            if len(batch):
                part = {name: column[batch] for name, column in layouts.items()}
                self._price(self.space.extend(part, (PLACE,)))

    def _by_bound(self, bounds: Least) -> Integers:
        return np.argsort(getattr(bounds, self._asked[0].of), kind="stable")

    def _by_question(self, bounds: Bounds) -> list[Mask]:
        """The blocks that may hold layouts that each question asks for. The dearer bounds are worked out for
        those alone that are still asked for by the cheaper ones, time where a question is about it.
        """
        wanted = self._wanted(bounds)
        bounds.hold(self._needed(wanted, bounds))
        wanted = self._wanted(bounds)
        if any(question.of_time for question in self._asked):
            bounds.time(self._needed(wanted, bounds))
            wanted = self._wanted(bounds)
        return wanted

    def _wanted(self, bounds: Bounds) -> list[Mask]:
        block = BlockBounds(self.space.case, bounds.blocks, bounds.least)
        return [question.may_be_met(block) for question in self._asked]

    def _needed(self, wanted: Sequence[Mask], bounds: Bounds) -> Mask:
        """The blocks that some question still asks for."""
        needed = np.zeros(len(bounds.least.score), dtype=bool)
        for question, mask, most in zip(self._asked, wanted, self._most, strict=True):
            value = getattr(bounds.least, question.of)
            asked = mask & (value < most)
            if question.keep > 1 and self._simpler is not None:
                asked &= self._simpler.leave(value, least_effort(bounds))
            needed |= asked
        return needed

    def _price(self, layouts: dict[str, Integers]) -> None:
        for rows in _slices(len(layouts["tp"]), PRICED):
            part = {name: column[rows] for name, column in layouts.items()}
            self._keep(sweep(replace(self.space, blocks=part)))
            if self.progress is not None and self.swept is not None:
                name = self.space.case.target.name
                self.progress.says(name, f"searching, {self.priced:,} layouts priced")
                self.progress.knows(self.swept)

    def _keep(self, found: Swept) -> None:
        """Keeps the layouts that answer a question, of those known and those found."""
        kept = answers(found, self._questions)
        if self.swept is not None and kept.space.rows:
            kept = answers(self.swept.with_rows(kept), self._questions)
        if kept.space.rows:
            self.swept = kept
            self._learn(kept)

    def _learn(self, swept: Swept) -> None:
        self._most = [limit(question, swept) for question in self._asked]
        self._simpler = Simpler.of(swept)


def least_effort(bounds: Bounds) -> Integers:
    """A lower bound on what decides between about equally good layouts of blocks, whichever preferences they
    meet."""
    case = bounds.space.case
    if case.headroom is None:
        return bounds.complexity
    roomy = BlockBounds(case, bounds.blocks, bounds.least).may_satisfy(case.headroom)
    return np.asarray(bounds.complexity + np.where(roomy, 0, CROWDED))


def _joined(
    space: Space, columns: dict[str, Integers], names: Sequence[str]
) -> Iterator[dict[str, Integers]]:
    """The rows with all values of more decisions, in parts of at most JOINED rows and candidates."""
    left = [name for name in names if name not in columns]
    if not left:
        yield columns
        return
    for rows in _slices(len(columns["nodes"]), max(1, JOINED // len(space.domains[left[0]]))):
        part = {name: column[rows] for name, column in columns.items()}
        yield from _joined(space, space.extend(part, left[:1]), left[1:])


def _slices(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size))


def answers(swept: Swept, questions: Sequence[Question]) -> Swept:
    """The layouts alone that answer a question."""
    rows = [_answering(question, swept) for question in questions]
    mask = np.zeros(swept.space.rows, dtype=bool)
    mask[np.concatenate(rows)] = True
    return swept.only(mask)


def _answering(question: Question, swept: Swept) -> Integers:
    if question.keep > 1:
        return _contending(question, swept)
    rows = np.flatnonzero(question.met(swept))
    return rows[np.argsort(question.values(swept)[rows], kind="stable")[: question.keep]]


def _contending(question: Question, swept: Swept) -> Integers:
    """The best layouts, and of the others those than which no better one is simpler."""
    rows = swept.by_objective
    if not len(rows):
        return rows
    effort = swept.effort(rows)
    simpler = effort < np.minimum.accumulate(np.concatenate([effort[:1] + 1, effort]))[:-1]
    keep = KEPT_WITH_RUNS if measured(swept.space.case) else question.keep
    return np.concatenate([rows[:keep], rows[simpler]])


def limit(question: Question, swept: Swept) -> int:
    """The value of a question from which on a layout does not answer it."""
    if question.keep == 1:
        rows = np.flatnonzero(question.met(swept))
        least = int(question.values(swept)[rows].min(initial=NONE))
        return least if least == NONE or not question.any else -NONE
    rows = swept.by_objective
    if len(rows) < question.keep:
        return NONE
    values = score(objectives(swept.space.case)[0], swept)[rows]
    keep = KEPT_WITH_RUNS if measured(swept.space.case) else question.keep
    last = int(values[min(keep, len(values)) - 1])
    return max(last, int(values[0]) + slack(swept.space.case, int(values[0]))) + 1
