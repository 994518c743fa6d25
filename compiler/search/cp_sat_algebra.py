"""A space -> an algebra of CP-SAT variables: the totals of `time/step.py` and `memory/peak.py` become linear
expressions with bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..algebra import LIMIT, Bounded, Column, Integers, Term, constant, replaced
from ..target import holds
from ..variables import DERIVED, SEARCHED
from .columns import distinct
from .space import Space

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


class CpSatAlgebra:
    """An `Algebra` over the CP-SAT model of a space: one variable per decision and derived variable; table
    constraints for derivations, rules and cost terms, `rows` in all."""

    def __init__(self, space: Space, model: cp_model.CpModel):
        self.space = space
        self.case = space.case
        self.model = model
        self.rows = 0
        self.values: dict[str, tuple[int, ...]] = {
            name: tuple(space.values(name)) for name in (*SEARCHED, *DERIVED)
        }
        self.variables: dict[str, cp_model.IntVar] = {
            name: self._variable(name) for name in self.values
        }
        self._terms: dict[str, Bounded] = {}
        for name, derived in DERIVED.items():
            self._relate(name, derived.of)
        for rule in (*space.rules, space.placed):
            self.restrict(rule.of, partial(holds, rule, self.case.job))
        self._keep_to(space.blocks or {})

    def number(self, value: int) -> Bounded:
        return constant(value)

    def variable(self, name: str) -> Bounded:
        values = self.values[name]
        if len(values) == 1:
            return constant(values[0])
        return Bounded(self.variables[name], values[0], values[-1])

    def term(self, term: Term) -> Bounded:
        if term.name not in self._terms:
            columns = self.combinations(term.of)
            self._terms[term.name] = self.tabulate(
                term.name, term.of, columns, term(self.case, columns)
            )
        return self._terms[term.name]

    def times(self, left: Bounded | int, right: Bounded | int) -> Bounded:
        left, right = constant(left), constant(right)
        ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        if min(ends) == max(ends):
            return constant(min(ends[0], LIMIT))
        if left.low == left.high and max(ends) <= LIMIT:
            return right * left.low
        if right.low == right.high and max(ends) <= LIMIT:
            return left * right.low
        low, high = (max(-LIMIT, min(end, LIMIT)) for end in (min(ends), max(ends)))
        product = self._integer(low, high)
        self.model.add_multiplication_equality(
            product.expression, [left.expression, right.expression]
        )
        return product

    def over(self, value: Bounded | int, divisor: Bounded | int) -> Bounded:
        value, divisor = constant(value), constant(divisor)
        if divisor.low == divisor.high == 1:
            return value
        if value.low == value.high and divisor.low == divisor.high:
            return constant(value.low // divisor.low)
        quotient = self._integer(value.low // divisor.high, value.high // divisor.low)
        whole = self._as_variable(divisor).expression
        self.model.add_division_equality(quotient.expression, value.expression, whole)
        return quotient

    def over_beside(self, value: Bounded, divisor: Bounded, beside: Bounded) -> Bounded:
        """`beside` is added to each part of the dividend and subtracted at the end, so that it cancels out of
        the sum as in `excess`."""
        dividend = value + beside + self.times(divisor - 1, beside)
        return self.over(dividend, divisor) - beside

    def share(self, part: Bounded, whole: Bounded, parts: int) -> Bounded:
        quotient = self._integer(0, parts)
        scaled = (part * parts).expression
        self.model.add_division_equality(quotient.expression, scaled, whole.expression)
        return quotient

    def largest(self, *values: Bounded | int) -> Bounded:
        bounded = [constant(value) for value in values]
        low = max(value.low for value in bounded)
        alive = [value for value in bounded if value.high >= low]
        if len(alive) == 1:
            return alive[0]
        result = self._integer(low, max(value.high for value in alive))
        self.model.add_max_equality(result.expression, [value.expression for value in alive])
        return result

    def replaced(self, count: Bounded, part: Bounded, each: Bounded, other: Bounded) -> Bounded:
        return replaced(self, count, part, each, other)

    def excess(self, value: Bounded | int, limit: Bounded | int) -> Bounded:
        """max(value, limit) - limit, so that `limit` cancels in a sum that contains it: as a variable for
        max(value - limit, 0), propagation would tighten the bounds of both by a nanosecond at a time.
        """
        value, limit = constant(value), constant(limit)
        larger = self.largest(value, limit)
        low, high = max(0, value.low - limit.high), max(0, value.high - limit.low)
        return Bounded(larger.expression - limit.expression, low, high)

    def excess_beside(self, value: Bounded, limit: Bounded) -> Bounded:
        return self.excess(value, limit)

    def combinations(self, names: tuple[str, ...]) -> dict[str, Integers]:
        """The combinations of the named variables' values that layouts of the space have, as columns."""
        if not names:
            return {}
        columns = [self.space.layouts[name] for name in names]
        return dict(zip(names, distinct(columns)[0].T, strict=True))

    def tabulate(
        self, name: str, of: tuple[str, ...], columns: dict[str, Integers], values: Integers
    ) -> Bounded:
        """A variable that equals `values[i]` where the variables `of` equal row i of `columns`."""
        values = np.broadcast_to(values, columns[of[0]].shape) if of else values
        low, high = int(values.min()), int(values.max())
        if low == high:
            return constant(low)
        result = Bounded(self.model.new_int_var(low, high, name), low, high)
        used = [variable for variable in of if len(self.values[variable]) > 1]
        rows = np.column_stack([*(columns[variable] for variable in used), values])
        self._table([self.variables[variable] for variable in used] + [result.expression], rows)
        return result

    def restrict(
        self, of: tuple[str, ...], allowed: Callable[[Mapping[str, Integers]], Column]
    ) -> None:
        """Allow only the combinations for which `allowed(columns)` holds."""
        used = tuple(name for name in of if name in self.values)
        grid = self.all_combinations(used)
        mask = np.broadcast_to(allowed(grid), grid[used[0]].shape)
        if mask.all():
            return
        live = [name for name in used if len(self.values[name]) > 1]
        if not live:
            self.model.add_bool_or([])
            return
        rows = np.column_stack([grid[name][mask] for name in live])
        self._table([self.variables[name] for name in live], rows)

    def all_combinations(self, names: tuple[str, ...]) -> dict[str, Integers]:
        """The full cross product of the named variables' values, as columns."""
        grid = np.meshgrid(
            *(np.array(self.values[name], dtype=np.int64) for name in names), indexing="ij"
        )
        return {name: axis.ravel() for name, axis in zip(names, grid, strict=True)}

    def _keep_to(self, blocks: Mapping[str, Integers]) -> None:
        """Allow only layouts of these blocks."""
        live = [name for name in SEARCHED if name in blocks and len(self.values[name]) > 1]
        if live:
            rows = np.column_stack([blocks[name] for name in live])
            self._table([self.variables[name] for name in live], rows)

    def _variable(self, name: str) -> cp_model.IntVar:
        from ortools.sat.python import cp_model

        return self.model.new_int_var_from_domain(
            cp_model.Domain.from_values(list(self.values[name])), name
        )

    def _relate(self, name: str, of: tuple[str, ...]) -> None:
        """Post the table that ties a derived variable to its sources."""
        columns = self.combinations(of)
        value = np.asarray(DERIVED[name].value(self.case.job, **columns), dtype=np.int64)
        value = np.broadcast_to(value, columns[of[0]].shape)
        mask = np.isin(value, self.values[name])
        live = [source for source in of if len(self.values[source]) > 1]
        if not live:
            return
        rows = np.column_stack([*(columns[source][mask] for source in live), value[mask]])
        self._table([*(self.variables[source] for source in live), self.variables[name]], rows)

    def _table(self, variables: list[cp_model.IntVar], rows: Integers) -> None:
        self.rows += len(rows)
        if len(variables) == 1:
            from ortools.sat.python import cp_model

            values = [int(value) for value in np.unique(rows)]
            self.model.add_linear_expression_in_domain(
                variables[0], cp_model.Domain.from_values(values)
            )
            return
        self.model.add_allowed_assignments(variables, np.unique(rows, axis=0).tolist())

    def _as_variable(self, divisor: Bounded) -> Bounded:
        """A divisor as one positive variable: CP-SAT's range for a sum of terms may include 0."""
        from ortools.sat.python import cp_model

        if divisor.low == divisor.high or isinstance(divisor.expression, cp_model.IntVar):
            return divisor
        result = self._integer(divisor.low, divisor.high)
        self.model.add(result.expression == divisor.expression)
        return result

    def _integer(self, low: int, high: int) -> Bounded:
        return Bounded(self.model.new_int_var(low, high, ""), low, high)
