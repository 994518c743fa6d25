"""A plan -> the settings that its job leaves at their defaults and that would make its layout much faster.

Each is priced alone, in the plan's own layout, by the job that says so. A plan of that job is at least as
fast within `goal.within`: the search has the same layout to choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from pydantic import BaseModel

from ...dsl.job import Job
from ...dsl.open_settings import Word, saying
from ...dsl.schema import SettingType, setting_types
from ..case import Case
from ..plan import Plan, WorthwhileSetting
from ..pricing.estimate import decisions, one_row
from ..pricing.quantities import price, quantities
from ..rules.validity import broken
from ..target import Target
from ..variables import NEUTRAL
from .sweep import PER_STEP, objectives, runnable, satisfied

#: By how much faster a layout has to be with a setting, and by how much another value of it, to be named.
WORTHWHILE, CLOSE = 0.03, 0.01


def worthwhile_settings(plan: Plan, target: Target) -> tuple[WorthwhileSetting, ...]:
    """The settings worth more than WORTHWHILE, the most first; of several values of one the first as good as
    its best. None where the goal is not of the time of a step, or of what follows from it."""
    case = Case(plan.job, target)
    if objectives(case)[0].quantity not in PER_STEP:
        return ()
    layout = decisions(case, plan.estimate)
    own = _seconds(plan.job, target, layout)
    found = []
    for path, known in _left(plan.job, target):
        gains = [(_gain(plan.job, target, layout, own, path, word), word) for word in _words(known)]
        most = max((gain for gain, _ in gains), default=0.0)
        if most > WORTHWHILE:
            gain, word = next(each for each in gains if each[0] >= most - CLOSE)
            needs = dict(known.needs).get(str(word).lower(), "")
            found.append(WorthwhileSetting(path=path, value=word, gain=gain, needs=needs))
    return tuple(sorted(found, key=lambda each: -each.gain))


def _left(job: Job, target: Target) -> Iterator[tuple[tuple[str, ...], SettingType]]:
    """The settings with a price that the job neither says nor leaves open."""
    blocks: list[tuple[tuple[str, ...], BaseModel]] = [
        (("train",), job.train),
        (("target", target.name), job.options(target.name)),
    ]
    for path, block in blocks:
        for key, known in setting_types(type(block)).items():
            if known.open and key not in block.model_fields_set:
                yield (*path, key), known


def _words(known: SettingType) -> list[Word]:
    """The values of a setting other than its default, in the order of its documentation."""
    words: tuple[Word, ...] = (False, True) if known.kind == "truth" else known.words
    return [word for word in words if word != known.default]


def _gain(
    job: Job,
    target: Target,
    layout: dict[str, int],
    own: float,
    path: tuple[str, ...],
    word: Word,
) -> float:
    """By what share the layout is faster with a setting; 0 where it cannot run with it."""
    other = saying(job, {path: word})
    if any(each.severity == "error" for each in target.refuses(other)):
        return 0.0
    return own / _seconds(other, target, layout) - 1


def _seconds(job: Job, target: Target, layout: dict[str, int]) -> float:
    """The seconds that a step takes; infinite where the job has no such layout, or its goal allows none."""
    case = Case(job, target)
    columns = one_row(case, layout)
    neutral = {name: (value,) for name, value in NEUTRAL.items()}
    domains = {**neutral, **case.domains}
    if any(int(columns[name][0]) not in values for name, values in domains.items()):
        return inf
    if broken(job, target, columns):
        return inf
    prices = price(case, columns)
    values = columns | quantities(case, columns, prices)
    kept = all(satisfied(each, values).all() for each in case.hard)
    return float(prices.step_ns[0]) / 1e9 if kept and runnable(case, prices).all() else inf
