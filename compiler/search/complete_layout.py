"""A layout that gives some variables -> the cheapest that gives all, or the rules that it breaks."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...dsl.codes import OUT_OF_BOUNDS, UNKNOWN_NAME
from ...dsl.diagnostics import Diagnostic, JobError, did_you_mean
from ..case import Case
from ..codes import NO_LAYOUT
from ..rules.validity import WORLD, broken, complaint, undecided
from ..variables import DECISIONS, DERIVATIONS, LARGEST, NEUTRAL, ORDER, with_derived
from .best_first import explored, with_reasons
from .space import Space
from .sweep import fits

#: Derived variables that a layout may give; they must agree with the decisions.
NAMED = tuple(derived.name for derived in DERIVATIONS if derived.named)


def complete(case: Case, layout: Mapping[str, int]) -> dict[str, int]:
    """All decision variables of a layout: of those that it omits, `free` ones and those whose neutral value
    the job excludes take the best feasible value; if nothing is feasible, those of the fastest layout that
    fits into memory, or of the smallest.

    Raises JobError for unknown names, values out of bounds and broken rules."""
    _check_names(case, layout)
    closed = {
        each.name: NEUTRAL[each.name]
        for each in DECISIONS
        if not each.free
        and NEUTRAL[each.name] in case.domains.get(each.name, (NEUTRAL[each.name],))
    }
    space = Space(case, {**closed, **layout})
    swept = with_reasons(explored(space))
    if not swept.space.size:
        swept = with_reasons(explored(replace(space, wide=True)))
    if not swept.space.size:
        raise JobError(_complaints(space, layout))
    if swept.best is not None:
        return {name: swept.best[name] for name in ORDER}
    prices = swept.prices
    fit = fits(case, prices)
    row = (
        np.argmin(np.where(fit, prices.step_ns, np.iinfo(np.int64).max))
        if fit.any()
        else prices.memory_kib.argmin()
    )
    return swept.decisions(int(row))


def _check_names(case: Case, layout: Mapping[str, int]) -> None:
    errors = [
        Diagnostic(
            UNKNOWN_NAME,
            f"unknown layout variable `{name}`",
            help=did_you_mean(name, LARGEST) or ", ".join(LARGEST),
        )
        for name in layout
        if name not in LARGEST
    ]
    errors += [
        Diagnostic(OUT_OF_BOUNDS, f"`{name}` is {value}, below {NEUTRAL.get(name, 1)}")
        for name, value in layout.items()
        if name in LARGEST and value < NEUTRAL.get(name, 1)
    ]
    errors += [
        Diagnostic(OUT_OF_BOUNDS, f"`{name}` is {value:,}, above {LARGEST[name]:,}")
        for name, value in layout.items()
        if name in LARGEST and value > LARGEST[name]
    ]
    errors = errors or undecided(case.job, case.target, layout)
    if errors:
        raise JobError(errors)


def _complaints(space: Space, layout: Mapping[str, int]) -> list[Diagnostic]:
    """The rules that the completion by the least candidate values breaks: those about variables that the
    layout gives, or all if there are none such."""
    job = space.case.job
    first = {name: np.array([space.domains[name][0]], dtype=np.int64) for name in ORDER}
    columns = with_derived(job, first)
    rules = broken(job, space.case.target, columns)
    named = [rule for rule in rules if set(rule.of) & {*layout, "gpus"}]
    values = {name: int(column[0]) for name, column in columns.items()}
    found = [complaint(job, rule, values) for rule in named or rules]
    for name in NAMED:
        if name in layout and name in values and values[name] != layout[name]:
            message = f"`{name}` is {layout[name]}, but the other degrees make it {values[name]}"
            found.append(Diagnostic(WORLD.code, message))
    return found or [Diagnostic(NO_LAYOUT, f"{space.case.target.name} has no such layout")]
