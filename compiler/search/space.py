"""A job on a target -> its decision space: domains, derived variables, every layout that the rules allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ...dsl.job import Job
from ..algebra import Integers, Mask
from ..case import Case
from ..rules.candidate_degrees import divisors_of_gpus
from ..rules.validity import BATCH, IMPLIED, REPLICAS, WORLD, predicates
from ..target import Predicate, divisors, holds
from ..variables import DERIVED, NEUTRAL, ORDER, PLACE, SEARCHED
from .columns import Growing, distinct, expanded, joined, quotient_pairs

if TYPE_CHECKING:
    from .bounds import Bounds
    from .ranges import Extremes

#: Rows x candidates whose rules are evaluated at once.
PAIRS = 2**20
#: Fewest rows that are extended at once where the result is to be bounded.
ROWS = 2**12

#: Degrees in the order in which they join, whose product divides the GPUs, and the rules that say so.
DEGREES = ("tp", "pp", "cp")
DIVIDING = frozenset({WORLD, *IMPLIED[WORLD]})


@dataclass(frozen=True)
class Space:
    """Domains by variable and the rules between them. `fixed` restricts variables, derived ones included, to
    one value; `without` are rules to leave out; `blocks`, columns of `join` or `extend`, are what is left of
    the space.
    """

    case: Case
    fixed: Mapping[str, int] = field(default_factory=dict)
    without: frozenset[Predicate] = frozenset()
    blocks: Mapping[str, Integers] | None = None

    @property
    def job(self) -> Job:
        return self.case.job

    @cached_property
    def rules(self) -> tuple[Predicate, ...]:
        return tuple(rule for rule in predicates(self.case.target) if rule not in self.without)

    @cached_property
    def placed(self) -> Predicate:
        """The rule that a pipeline has the placement of that number."""
        placements = self.case.placements
        return Predicate(
            "",
            "placement",
            "the pipeline has no such placement",
            ("pp", "vpp", PLACE),
            lambda job, pp, vpp, place: place < placements.counts(pp, vpp),
            lambda job, pp, vpp, place: f"pp {pp} with vpp {vpp} has no placement {place}",
            "compiler/pipeline/placements.py",
        )

    @cached_property
    def _joining(self) -> tuple[Predicate, ...]:
        """The rules, and what they imply of fewer variables, so that joins drop rows early."""
        return (*chain.from_iterable(self.implied.values()), *self.rules, self.placed)

    @cached_property
    def implied(self) -> Mapping[Predicate, tuple[Predicate, ...]]:
        """The predicates that each rule implies of fewer variables, with the domains of the others."""
        found = {rule: IMPLIED.get(rule, ()) for rule in self.rules}
        if REPLICAS in found and self._products is not None:
            products = self._products
            part = replace(REPLICAS, of=("dp",), holds=lambda job, dp: np.isin(dp, products))
            found[REPLICAS] = (*found[REPLICAS], part)
        return found

    @cached_property
    def _products(self) -> Integers | None:
        """The products of the domains of dp_shard and dp_replicate; None where one is unrestricted."""
        if self.replicas is None:
            return None
        return np.unique(np.multiply.outer(self.columns["dp_shard"], self.replicas))

    @cached_property
    def _data_parallel(self) -> tuple[Predicate, Integers] | None:
        """A rule of what dp may be, and what that is in rising order; None where there is none."""
        if BATCH in self.rules:
            return BATCH, np.asarray(divisors(self.job.train.global_batch))
        if REPLICAS in self.rules and self._products is not None:
            return REPLICAS, self._products
        return None

    @cached_property
    def domains(self) -> dict[str, tuple[int, ...]]:
        """The sorted domain of each decision; the neutral value alone where the target does not decide it."""
        key = tuple(sorted(self.fixed.items()))
        if key not in self.case.kept_domains:
            given = {"nodes": self.job.cluster.nodes, **self.case.domains}
            given = {name: given.get(name, (NEUTRAL.get(name, 1),)) for name in ORDER}
            given.update({name: (value,) for name, value in self.fixed.items() if name in given})
            found = {name: tuple(sorted(set(values))) for name, values in given.items()}
            places = range(self.case.placements.most(found["pp"], found["vpp"]))
            found[PLACE] = (self.fixed[PLACE],) if PLACE in self.fixed else tuple(places)
            self.case.kept_domains[key] = found
        return self.case.kept_domains[key]

    @cached_property
    def columns(self) -> dict[str, Integers]:
        """The domains as columns."""
        return {name: np.asarray(values, dtype=np.int64) for name, values in self.domains.items()}

    @cached_property
    def replicas(self) -> tuple[int, ...] | None:
        """The target's domain of dp_replicate, a derived variable; None where it is unrestricted."""
        given = self.case.domains.get("dp_replicate")
        return None if given is None else tuple(given)

    @cached_property
    def layouts(self) -> dict[str, Integers]:
        """Every layout that the rules allow in each placement, one column per variable, in a fixed order."""
        return self.extend(self.blocks or {}, SEARCHED)

    def has_at_most(self, most: int) -> bool:
        """Whether the space has so few rows; a join that takes more on its way counts as more."""
        columns = dict(self.blocks or {})
        for name in SEARCHED:
            found = self.extend_to(columns, name, most)
            if found is None:
                return False
            columns = found
        self.__dict__["layouts"] = columns
        return True

    def extend_to(
        self, columns: Mapping[str, Integers], name: str, most: int
    ) -> dict[str, Integers] | None:
        """`extend` by one decision; None where that gives more than `most` rows, of which no more are made
        than those of a part."""
        count = len(next(iter(columns.values()))) if columns else 1
        step = max(ROWS, PAIRS // max(1, len(self.domains[name])))
        if count <= step:
            found = self.extend(columns, [name])
            return found if len(found[name]) <= most else None
        parts, rows = [], 0
        for start in range(0, count, step):
            part = {other: column[start : start + step] for other, column in columns.items()}
            parts.append(self.extend(part, [name]))
            rows += len(parts[-1][name])
            if rows > most:
                return None
        return {other: np.concatenate([part[other] for part in parts]) for other in parts[0]}

    @cached_property
    def extremes(self) -> dict[tuple[str, tuple[str, ...]], Extremes]:
        """Bounds of terms by name and what decides them, kept by `ranges.py` from batch to batch."""
        return {}

    @cached_property
    def shared(self) -> list[Bounds]:
        """The bounds of the first level of blocks, once `bounds.py` has them."""
        return []

    @cached_property
    def biting(self) -> set[Predicate]:
        """The rules, or parts of them, that left something out of what was joined so far."""
        return set()

    @property
    def one_size(self) -> bool:
        """Whether all layouts have the same number of GPUs."""
        return len(self.domains["nodes"]) == 1

    def decides(self, names: Sequence[str]) -> bool:
        """Whether one of the named decisions has more than one value."""
        return any(len(self.domains[name]) > 1 for name in names)

    @property
    def rows(self) -> int:
        """Layouts, each in all of its placements."""
        return len(self.layouts["tp"])

    @property
    def size(self) -> int:
        """Layouts, whatever their placements."""
        return int(np.count_nonzero(self.layouts[PLACE] == 0))

    def values(self, name: str) -> tuple[int, ...]:
        """The values that a variable, decided or derived, takes in some allowed layout."""
        return tuple(int(value) for value in np.unique(self.layouts[name]))

    def join(self, names: Sequence[str]) -> dict[str, Integers]:
        """All combinations of the named decisions that pass every rule among them, with the variables that
        derive from them: int64 columns of equal length."""
        return self.extend({}, names)

    def extend(self, columns: Mapping[str, Integers], names: Sequence[str]) -> dict[str, Integers]:
        """Each row of columns that `join` gave with all values of more of the named decisions.

        Variables join one by one. Rules between the new variable and present columns mask rows x candidates
        before any row is copied; rules on variables that derive from the new one filter rows afterwards.
        """
        found = dict(columns)
        checked = {rule for rule in self._joining if set(rule.of) <= found.keys()}
        for name in names:
            if name in found:
                continue
            ready = [
                rule for rule in self._joining if name in rule.of and set(rule.of) <= {*found, name}
            ]
            growing = self._extended(found, name, ready)
            checked.update(ready)
            self._derive(growing)
            self._filter(growing, checked)
            found = growing.whole()
        return found

    def _extended(
        self, columns: dict[str, Integers], name: str, ready: Sequence[Predicate]
    ) -> Growing:
        """Each row with each candidate of `name` that the rules `ready` to be evaluated allow."""
        domain = self._domain(name)
        left = self._left(columns, name)
        rules = [rule for rule in ready if rule.of != (name,)]
        if left is None:
            row, candidate = self._any_pairs(columns, name, domain, rules)
        else:
            rules = [rule for rule in rules if rule not in DIVIDING]
            row, candidate = self._divisor_pairs(columns, left, name, domain, rules)
        return Growing(columns, row, {name: domain[candidate]})

    def _domain(self, name: str) -> Integers:
        """The candidates of a decision that the rules of it alone allow."""
        if name not in self._allowed_alone:
            domain = self.columns[name]
            for rule in (each for each in self._joining if each.of == (name,)):
                domain = domain[self._holds(rule, {name: domain})]
            self._allowed_alone[name] = domain
        return self._allowed_alone[name]

    @cached_property
    def _allowed_alone(self) -> dict[str, Integers]:
        return {}

    def _any_pairs(
        self,
        columns: Mapping[str, Integers],
        name: str,
        domain: Integers,
        rules: Sequence[Predicate],
    ) -> tuple[Integers, Integers]:
        """Indices of rows and of candidates that the rules allow together, in rising order; worked out once
        for all rows that are the same to the rules."""
        others = tuple(dict.fromkeys(other for rule in rules for other in rule.of if other != name))
        count = len(next(iter(columns.values()))) if columns else 1
        keys = [columns[other] for other in others] or [np.zeros(count, dtype=np.int64)]
        values, code = distinct(keys)
        given = {other: values[:, index] for index, other in enumerate(others)}
        return expanded(code, *self._pairs(given, len(values), name, domain, rules), len(values))

    def _left(self, columns: Mapping[str, Integers], name: str) -> Integers | None:
        """The number that the degrees so far leave of the GPUs, of which the degree `name` must be a divisor;
        None where it need not."""
        present = tuple(degree for degree in DEGREES if degree in columns)
        if "gpus" not in columns or WORLD not in self.rules:
            return None
        if (*present, name) != DEGREES[: len(present) + 1]:
            return None
        left = columns["gpus"]
        for other in present:
            left = left // columns[other]
        return left

    def _divisor_pairs(
        self,
        columns: Mapping[str, Integers],
        left: Integers,
        name: str,
        domain: Integers,
        rules: Sequence[Predicate],
    ) -> tuple[Integers, Integers]:
        """As `_any_pairs`, of candidates that divide what is left of the GPUs."""
        return joined(
            [
                self._allowed_pairs(columns, pairs, name, domain, rules)
                for pairs in self._dividing(columns, left, name, domain)
            ]
        )

    def _dividing(
        self, columns: Mapping[str, Integers], left: Integers, name: str, domain: Integers
    ) -> Iterator[tuple[Integers, Integers]]:
        """Indices of rows and of candidates that divide what is left of the GPUs, in parts. Of thousands of
        rows and of candidates few pairs do, which the divisors of the nodes' GPUs give, or for the last
        degree the quotients by what dp may be, whichever are fewer to try."""
        counts, code = distinct([columns["nodes"]])
        nodes, size = counts[:, 0].tolist(), self.job.cluster.gpus_per_node
        known = [divisors_of_gpus(each, size) for each in nodes]
        if not known or not len(domain):
            return
        ways = np.concatenate(known)
        candidate = np.minimum(np.searchsorted(domain, ways), len(domain) - 1)
        count = np.repeat(np.arange(len(known)), [len(each) for each in known])
        held = domain[candidate] == ways
        tried = int(np.bincount(count[held], minlength=len(known))[code].sum())
        last = self._data_parallel if name == DEGREES[-1] else None
        if last is not None and len(last[1]) * len(left) < tried:
            self.biting.add(last[0])
            yield from quotient_pairs(left, last[1], domain, PAIRS)
            return
        step = max(1, PAIRS * len(known) // len(ways))
        for start in range(0, len(code), step):
            part = code[start : start + step]
            row, way = expanded(part, count[held], candidate[held], len(known))
            row = start + row
            divides = left[row] % domain[way] == 0
            yield row[divides], way[divides]

    def _pairs(
        self,
        given: Mapping[str, Integers],
        count: int,
        name: str,
        domain: Integers,
        rules: Sequence[Predicate],
    ) -> tuple[Integers, Integers]:
        """Indices of `count` combinations of other variables and of candidates that the rules allow together,
        in rising order."""
        step = max(1, PAIRS // max(1, len(domain)))
        found = []
        for start in range(0, count, step):
            part = {other: column[start : start + step] for other, column in given.items()}
            mask = np.ones((min(step, count - start), len(domain)), dtype=bool)
            for rule in rules if len(domain) else ():
                mask &= self._allowed(part, name, domain, rule)
            row, candidate = np.nonzero(mask)
            found.append((row + start, candidate))
        return joined(found)

    def _allowed_pairs(
        self,
        given: Mapping[str, Integers],
        pairs: tuple[Integers, Integers],
        name: str,
        domain: Integers,
        rules: Sequence[Predicate],
    ) -> tuple[Integers, Integers]:
        """The pairs of combinations and candidates that the rules allow."""
        row, candidate = pairs
        for rule in rules if len(row) else ():
            columns = {other: given[other][row] for other in rule.of if other != name}
            columns[name] = domain[candidate]
            kept = self._holds(rule, columns)
            row, candidate = row[kept], candidate[kept]
        return row, candidate

    def _allowed(
        self, columns: Mapping[str, Integers], name: str, domain: Integers, rule: Predicate
    ) -> Mask:
        """Which rows x candidates one rule allows; evaluated once per distinct combination of its other
        variables."""
        others = [other for other in rule.of if other != name]
        values, code = distinct([columns[other] for other in others])
        grid = {
            other: np.repeat(values[:, index], len(domain)) for index, other in enumerate(others)
        }
        grid[name] = np.tile(domain, len(values))
        return self._holds(rule, grid).reshape(len(values), len(domain))[code]

    def _derive(self, rows: Growing) -> None:
        for name, derived in DERIVED.items():
            if name not in rows and all(source in rows for source in derived.of):
                value = derived.value(self.job, **rows.of(derived.of))
                rows.new[name] = np.asarray(value, dtype=np.int64)

    def _filter(self, rows: Growing, checked: set[Predicate]) -> None:
        for rule in self._joining:
            if rule not in checked and all(name in rows for name in rule.of):
                checked.add(rule)
                rows.keep(self._holds(rule, rows.of(rule.of)))
        if self.replicas is not None and "dp_replicate" in rows.new:
            rows.keep(np.isin(rows.new["dp_replicate"], self.replicas))
        for name in DERIVED.keys() & self.fixed.keys():
            if name in rows.new:
                rows.keep(rows.new[name] == self.fixed[name])

    def _holds(self, rule: Predicate, columns: Mapping[str, Integers]) -> Mask:
        """Where a rule holds, of columns of one length."""
        shape = columns[rule.of[0]].shape
        mask = np.broadcast_to(np.asarray(holds(rule, self.job, columns), dtype=bool), shape)
        if not mask.all():
            self.biting.add(rule)
        return mask
