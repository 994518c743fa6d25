"""A job on a target -> its decision space: domains, derived variables, every layout that the rules allow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...dsl.job import Job
from ..algebra import Integers, Mask
from ..case import Case
from ..rules.candidate_degrees import all_values
from ..rules.validity import predicates
from ..target import Predicate, holds
from ..variables import DERIVED, NEUTRAL, ORDER


@dataclass(frozen=True)
class Space:
    """Domains by variable and the rules between them. `fixed` restricts variables, derived ones included, to
    one value; `wide` takes all values that the rules may allow in place of the target's candidates; `without`
    are rules to leave out."""

    case: Case
    fixed: Mapping[str, int] = field(default_factory=dict)
    wide: bool = False
    without: frozenset[Predicate] = frozenset()

    @property
    def job(self) -> Job:
        return self.case.job

    @cached_property
    def rules(self) -> tuple[Predicate, ...]:
        return tuple(rule for rule in predicates(self.case.target) if rule not in self.without)

    @cached_property
    def domains(self) -> dict[str, tuple[int, ...]]:
        """The sorted domain of each decision; the neutral value alone where the target does not decide it."""
        decided = self.case.domains
        decided = all_values(self.job, decided) if self.wide else decided
        given = {"nodes": self.job.cluster.nodes, **decided}
        given = {name: given.get(name, (NEUTRAL.get(name, 1),)) for name in ORDER}
        given.update({name: (value,) for name, value in self.fixed.items() if name in ORDER})
        return {name: tuple(sorted(set(values))) for name, values in given.items()}

    @cached_property
    def replicas(self) -> tuple[int, ...] | None:
        """The target's domain of dp_replicate, a derived variable; None where it is unrestricted."""
        given = self.case.domains.get("dp_replicate")
        return None if given is None else tuple(given)

    @cached_property
    def layouts(self) -> dict[str, Integers]:
        """Every layout that the rules allow, one column per variable, in a fixed order."""
        return self.join(ORDER)

    @property
    def size(self) -> int:
        return len(self.layouts["tp"])

    def values(self, name: str) -> tuple[int, ...]:
        """The values that a variable, decided or derived, takes in some allowed layout."""
        return tuple(int(value) for value in np.unique(self.layouts[name]))

    def join(self, names: Sequence[str]) -> dict[str, Integers]:
        """All combinations of the named decisions that pass every rule among them, with the variables that
        derive from them: int64 columns of equal length.

        Variables join one by one. Rules between the new variable and present columns mask rows x candidates
        before any row is copied; rules on variables that derive from the new one filter rows afterwards.
        """
        columns: dict[str, Integers] = {}
        checked: set[Predicate] = set()
        for name in names:
            ready = [
                rule for rule in self.rules if name in rule.of and set(rule.of) <= {*columns, name}
            ]
            columns = self._extend(columns, name, ready)
            checked.update(ready)
            columns = self._derive(columns)
            columns = self._filter(columns, checked)
        return columns

    def _extend(
        self, columns: dict[str, Integers], name: str, ready: Sequence[Predicate]
    ) -> dict[str, Integers]:
        """Each row with each candidate of `name` that the rules `ready` to be evaluated allow."""
        domain = np.asarray(self.domains[name], dtype=np.int64)
        rows = len(next(iter(columns.values()))) if columns else 1
        mask = np.ones((rows, len(domain)), dtype=bool)
        ready = ready if rows else ()
        for rule in ready:
            mask &= self._allowed(columns, name, domain, rule)
        row, candidate = np.nonzero(mask)
        return {
            **{other: column[row] for other, column in columns.items()},
            name: domain[candidate],
        }

    def _allowed(
        self, columns: Mapping[str, Integers], name: str, domain: Integers, rule: Predicate
    ) -> Mask:
        """Which rows x candidates one rule allows; evaluated once per distinct combination of its other
        variables."""
        others = [other for other in rule.of if other != name]
        if not others:
            return np.broadcast_to(holds(rule, self.job, {name: domain}), domain.shape)
        values, code = distinct(np.column_stack([columns[other] for other in others]))
        grid = {
            other: np.repeat(values[:, index], len(domain)) for index, other in enumerate(others)
        }
        grid[name] = np.tile(domain, len(values))
        return np.broadcast_to(holds(rule, self.job, grid), grid[name].shape).reshape(
            len(values), len(domain)
        )[code]

    def _derive(self, columns: dict[str, Integers]) -> dict[str, Integers]:
        for name, derived in DERIVED.items():
            if name not in columns and all(source in columns for source in derived.of):
                columns[name] = np.asarray(
                    derived.value(self.job, **{source: columns[source] for source in derived.of}),
                    dtype=np.int64,
                )
        return columns

    def _filter(self, columns: dict[str, Integers], checked: set[Predicate]) -> dict[str, Integers]:
        for rule in self.rules:
            if rule not in checked and all(name in columns for name in rule.of):
                checked.add(rule)
                columns = _keep(columns, self._mask(columns, rule))
        if self.replicas is not None and "dp_replicate" in columns:
            columns = _keep(columns, np.isin(columns["dp_replicate"], self.replicas))
        for name in DERIVED.keys() & self.fixed.keys() & columns.keys():
            columns = _keep(columns, columns[name] == self.fixed[name])
        return columns

    def _mask(self, columns: Mapping[str, Integers], rule: Predicate) -> Mask:
        if not len(columns["nodes"]):
            return np.ones(0, dtype=bool)
        values, code = distinct(np.column_stack([columns[name] for name in rule.of]))
        grid = {name: values[:, index] for index, name in enumerate(rule.of)}
        return np.broadcast_to(holds(rule, self.job, grid), len(values))[code]


def distinct(rows: Integers) -> tuple[Integers, Integers]:
    """The distinct rows, and each row's index among them. Mixed-radix codes avoid sorting whole rows."""
    code = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        low = int(column.min(initial=0))
        code = code * (int(column.max(initial=0)) - low + 1) + (column - low)
        if int(code.max(initial=0)) > 1 << 20:
            code = np.unique(code, return_inverse=True)[1]
    size = int(code.max(initial=0)) + 1
    first = np.zeros(size, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    used = np.flatnonzero(np.bincount(code, minlength=size))
    index = np.zeros(size, dtype=np.int64)
    index[used] = np.arange(len(used))
    return rows[first[used]], index[code]


def _keep(columns: Mapping[str, Integers], mask: Mask) -> dict[str, Integers]:
    if bool(mask.all()):
        return dict(columns)
    return {name: column[mask] for name, column in columns.items()}
