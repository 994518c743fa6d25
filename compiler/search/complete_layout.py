"""A layout that gives some variables -> the cheapest that gives all, or the rules that it breaks."""

from collections.abc import Iterator, Mapping
from operator import index

import numpy as np

from ...dsl.codes import OUT_OF_BOUNDS, UNKNOWN_NAME, UNKNOWN_WORD, WRONG_KIND
from ...dsl.diagnostics import Diagnostic, JobError, did_you_mean
from ...dsl.expression import VALUES
from ..algebra import Integers
from ..case import Case
from ..codes import NO_LAYOUT, UNDECIDED
from ..rules.validity import WORLD, broken, complaint, undecided, word
from ..target import holds
from ..variables import DECISIONS, DERIVATIONS, LARGEST, NEUTRAL, ORDER, with_derived
from .best_first import explored, with_reasons
from .space import Space
from .sweep import fits, objectives, room, score, sweep

#: Derived variables that a layout may give; they must agree with the decisions.
NAMED = tuple(derived.name for derived in DERIVATIONS if derived.named)


def complete(case: Case, given: Mapping[str, int | str]) -> dict[str, int]:
    """All decision variables of a layout: of those that it omits, `free` ones and those whose neutral value
    the job excludes take the best feasible value; if nothing is feasible, those of the fastest layout that
    fits into memory, or of the smallest. Values may be words of the language, such as `full`.

    Raises JobError for unknown names and words, values out of bounds and broken rules."""
    layout = in_numbers(given)
    _check_names(case, layout)
    closed = {
        each.name: NEUTRAL[each.name]
        for each in DECISIONS
        if not each.free
        and NEUTRAL[each.name] in case.domains.get(each.name, (NEUTRAL[each.name],))
    }
    space = Space(case, {**closed, **layout})
    swept = with_reasons(explored(space))
    if not swept.space.rows:
        raise JobError(_complaints(space, layout))
    if swept.best is not None:
        return roomiest(case, swept.best)
    prices = swept.prices
    fit = fits(case, prices)
    row = (
        np.argmin(np.where(fit, prices.step_ns, np.iinfo(np.int64).max))
        if fit.any()
        else prices.memory_kib.argmin()
    )
    return swept.decisions(int(row))


def in_numbers(layout: Mapping[str, int | str]) -> dict[str, int]:
    """A layout with the number of each word. Raises JobError with all values that are neither."""
    found, errors = {}, []
    for name, value in layout.items():
        try:
            known = VALUES.get(name, {}) if isinstance(value, str) else {}
            found[name] = known[value] if value in known else index(value)  # type: ignore[arg-type]
        except TypeError:
            errors.append(_no_value(name, value) if name in LARGEST else _unknown(name))
    if errors:
        raise JobError(errors)
    return found


def _no_value(name: str, value: object) -> Diagnostic:
    words = VALUES.get(name)
    if not words:
        return Diagnostic(WRONG_KIND, f"`{name}` is a whole number, not `{value}`")
    near = did_you_mean(value, words) if isinstance(value, str) else None
    help = near or f"it is one of {', '.join(words)}"
    return Diagnostic(UNKNOWN_WORD, f"`{name}` does not know `{value}`", help=help)


def _unknown(name: str) -> Diagnostic:
    help = did_you_mean(name, LARGEST) or ", ".join(LARGEST)
    return Diagnostic(UNKNOWN_NAME, f"unknown layout variable `{name}`", help=help)


def roomiest(case: Case, decided: Mapping[str, int]) -> dict[str, int]:
    """A layout in the placement that needs the least memory, of those that satisfy the goal about as well as
    its best one."""
    swept = sweep(Space(case, {name: decided[name] for name in ORDER}))
    rows = np.flatnonzero(swept.feasible)
    if not len(rows):
        return dict(decided)
    scores = score(objectives(case)[0], swept)[rows]
    rows = rows[scores <= scores.min() + room(case, int(scores.min()))]
    return swept.decisions(int(rows[np.argmin(swept.prices.memory_kib[rows])]))


#: What lets the search look at more values of a variable.
MORE = {
    "offload": "a condition of the goal that names `offload` has it searched",
    "nodes": "`cluster.nodes` says on how many nodes the job may run",
}


def unsearched(case: Case, decided: Mapping[str, int]) -> Iterator[Diagnostic]:
    """A complaint for each decision whose value no plan of the job may have."""
    domains = Space(case).domains
    for name in ORDER:
        if decided[name] not in domains[name]:
            said = word(name, decided[name])
            message = f"`{name}` {said} is in no plan of {case.target.name} for this job"
            yield Diagnostic(UNDECIDED, message, help=MORE.get(name))


def _check_names(case: Case, layout: Mapping[str, int]) -> None:
    errors = [_unknown(name) for name in layout if name not in LARGEST]
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


#: Variables whose values are tried together, as the batch and the GPUs leave them open. Others stay at their
#: least.
_TRIED = ("zero", "dp_shard", "micro_batch")


def _fewest_broken(space: Space) -> dict[str, Integers]:
    """The completion that breaks the fewest rules, of those with the least values: a column of one each."""
    given = space.domains
    least = {name: given[name] if name in _TRIED else given[name][:1] for name in ORDER}
    if "dp_shard" not in space.fixed:
        ranks = least["nodes"][0] * space.job.cluster.gpus_per_node
        every = max(1, ranks // (least["tp"][0] * least["pp"][0] * least["cp"][0]))
        least["dp_shard"] = (*least["dp_shard"], every)
    grid = np.meshgrid(*(np.array(each, dtype=np.int64) for each in least.values()), indexing="ij")
    job = space.case.job
    columns = with_derived(
        job, {name: each.ravel() for name, each in zip(least, grid, strict=True)}
    )
    count = np.zeros(columns["tp"].shape, dtype=np.int64)
    if space.replicas is not None:
        count += ~np.isin(columns["dp_replicate"], space.replicas)
    for rule in space.rules:
        count += ~np.asarray(holds(rule, job, columns), dtype=bool)
    row = int(np.argmin(count))
    return {name: column[row : row + 1] for name, column in columns.items()}


def _complaints(space: Space, layout: Mapping[str, int]) -> list[Diagnostic]:
    """The rules that the completion which breaks the fewest breaks, and what else the layout contradicts."""
    job = space.case.job
    columns = _fewest_broken(space)
    rules = broken(job, space.case.target, columns)
    values = {name: int(column[0]) for name, column in columns.items()}
    found = [complaint(job, rule, values) for rule in rules]
    for name in NAMED:
        if name in layout and name in values and values[name] != layout[name]:
            message = f"`{name}` is {layout[name]}, but the other degrees make it {values[name]}"
            found.append(Diagnostic(WORLD.code, message))
    return found or [Diagnostic(NO_LAYOUT, f"{space.case.target.name} has no such layout")]
