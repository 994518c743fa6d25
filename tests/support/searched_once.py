"""Searches that a process makes once: the commands that follow one take the answer to the same question.

Hundreds of tests are of what a command does with a plan, and the search for it is half of what each takes.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from parc import compiler
from parc.compiler import Progress
from parc.compiler.explain import explaining
from parc.compiler.explain.explaining import Explanation
from parc.compiler.plan import FewerNodes, Plan, WorthwhileSetting
from parc.compiler.search.sweep import Swept
from parc.compiler.target import Target
from parc.dsl import JobError
from parc.dsl.job import Job

#: Layouts of a search that are kept for whoever asks more of it; those of large jobs take 100 MB.
FEW = 20_000


@dataclass(frozen=True)
class Answer:
    """What a search found, and the targets that it was for, which live on so that no other has their id."""

    targets: tuple[Target, ...]
    outcomes: tuple[Plan | JobError, ...]
    best: dict[str, str]
    whole: dict[str, Swept]


_SEARCHES: dict[tuple[object, ...], Answer] = {}
_FEWER: dict[tuple[object, ...], tuple[Target, FewerNodes | None]] = {}
_WORTHWHILE: dict[tuple[object, ...], tuple[Target, tuple[WorthwhileSetting, ...]]] = {}
_EXPLAINED: dict[tuple[object, ...], tuple[Target, Explanation]] = {}
_explain = explaining.explain
_search, _fewer, _worthwhile = compiler.plan_all, compiler.fewer_nodes, compiler.worthwhile_settings


@contextmanager
def searched_once() -> Iterator[None]:
    """All that asks `parc.compiler` shares its answers, and commands their explanations; the modules of the
    search are as they were."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "plan_all", plan_all)
        patch.setattr(compiler, "fewer_nodes", fewer_nodes)
        patch.setattr(compiler, "worthwhile_settings", worthwhile_settings)
        patch.setattr(explaining, "explain", explain)
        yield


def plan_all(
    job: Job, targets: Iterable[Target], progress: Progress | None = None
) -> list[Plan | JobError]:
    """The outcomes of an earlier search for all that the job says, on the same targets; else of a new one."""
    asked, watched = tuple(targets), progress or Progress(job.name)
    key = (pickle.dumps(job), *map(id, asked), watched.keeps)
    if key not in _SEARCHES:
        outcomes = _search(job, asked, watched)
        answer = Answer(asked, tuple(outcomes), watched.best, watched.whole)
        if sum(len(swept.by_objective) for swept in watched.whole.values()) > FEW:
            return outcomes
        _SEARCHES[key] = answer
    known = _SEARCHES[key]
    watched.best, watched.whole = dict(known.best), dict(known.whole)
    return list(known.outcomes)


def fewer_nodes(plan: Plan, target: Target) -> FewerNodes | None:
    key = (pickle.dumps(plan), id(target))
    if key not in _FEWER:
        _FEWER[key] = (target, _fewer(plan, target))
    return _FEWER[key][1]


def worthwhile_settings(plan: Plan, target: Target) -> tuple[WorthwhileSetting, ...]:
    key = (pickle.dumps(plan), id(target))
    if key not in _WORTHWHILE:
        _WORTHWHILE[key] = (target, _worthwhile(plan, target))
    return _WORTHWHILE[key][1]


def explain(found: Plan, target: Target, known: Swept | None = None) -> Explanation:
    key = (pickle.dumps(found), id(target), known is None)
    if key not in _EXPLAINED:
        _EXPLAINED[key] = (target, _explain(found, target, known))
    return _EXPLAINED[key][1]
