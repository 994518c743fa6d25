"""Generated job texts -> compiled jobs, on all cores, until enough of them have a layout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from parc.api import emit, plan_targets
from parc.backends import BACKENDS
from parc.compiler.plan import Plan
from parc.dsl import loads
from parc.dsl.diagnostics import JobError
from tests.acceptance.support.job_generator import job_text
from tests.acceptance.support.processes import end_with_parent

#: Jobs tried for each one that is wanted: at least a quarter must have a layout. Among few the share varies.
TRIES, LEAST_TRIES = 4, 100
OPTIONS = {name: backend.target.options for name, backend in BACKENDS.items()}


@dataclass(frozen=True)
class Generated:
    """One job of a seed with its plan and files; without them when no layout meets its conditions."""

    name: str
    text: str
    plan: Plan | None
    files: dict[str, str]
    complaints: tuple[str, ...]


@dataclass(frozen=True)
class Batch:
    """Jobs of one target: those that compiled, and how many were tried for them."""

    target: str
    seed: int
    tried: int
    jobs: tuple[Generated, ...]


def compile_text(text: str, name: str) -> Generated:
    """What `parc compile` makes of a text with one target."""
    try:
        planned, emitted = emit(plan_targets(loads(text, f"{name}.par", targets=OPTIONS)))
    except JobError as error:
        return Generated(name, text, None, {}, tuple(str(found) for found in error.diagnostics))
    complaints = tuple(str(found) for found in planned.diagnostics())
    plan = planned.plans[0] if planned.plans else None
    return Generated(name, text, plan, emitted.files, complaints)


def batch(target: str, seed: int, wanted: int) -> Batch:
    """The first `wanted` jobs of a seed that have a layout; fewer when too few of them do."""
    tried, found = 0, []
    for generated in _compiled(target, seed, max(TRIES * wanted, LEAST_TRIES)):
        tried += 1
        if generated.plan is not None:
            found.append(generated)
        if len(found) == wanted:
            break
    return Batch(target, seed, tried, tuple(found))


def _compiled(target: str, seed: int, most: int) -> Iterator[Generated]:
    """In the order of their numbers, a few ahead of what is asked for."""
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, initializer=end_with_parent) as pool:
        try:
            for first in range(0, most, 8 * workers):
                numbers = range(first, min(first + 8 * workers, most))
                yield from pool.map(partial(_number, target, seed), numbers)
        finally:
            pool.shutdown(cancel_futures=True)


def _number(target: str, seed: int, number: int) -> Generated:
    return compile_text(job_text(target, seed, number), f"m{number}{target.partition('-')[2]}")
