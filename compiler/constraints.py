"""The user's conditions in the solver: each becomes a literal that is true
exactly where the condition is met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.expression import QUANTITIES, Call, Expression, Name, evaluate, names
from ..dsl.job import Constraint, Objective
from .algebra import Bounded, Solver, constant
from .case import Case
from .codes import NO_OBJECTIVE, NOT_A_BOUND, TOO_MANY_VARIABLES
from .quantities import gpu_dollars, gpu_watts, recomputed_flops, recomputed_total

#: Fixed point of the bubble's share of a step.
SHARE = 10**6
#: Rows that the table of one condition may have.
ROWS = 200_000
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True)
class Totals:
    """The solver's values of a layout's price."""

    step_ns: Bounded
    bubble_ns: Bounded
    memory_kib: Bounded


class Conditions:
    """Turns conditions and objectives into solver expressions over one model."""

    def __init__(self, solver: Solver, totals: Totals):
        self.solver = solver
        self.case: Case = solver.case
        self.totals = totals

    def literal(self, constraint: Constraint) -> Bounded:
        """0 or 1: whether the condition, as written, is met."""
        return self._truth(constraint.expression, constraint)

    def objective(self, objective: Objective) -> Bounded:
        """An expression to minimise."""
        value = self._measure(objective)
        return value if _smaller_is_better(objective) else value * -1

    def _measure(self, objective: Objective) -> Bounded:
        name, totals = objective.quantity, self.totals
        if name in ("step_time", "days", "tokens_per_second"):
            return totals.step_ns
        if name in ("mfu", "cost", "energy"):
            gpus = self.solver.variable("gpus")
            return (
                totals.step_ns if gpus.low == gpus.high else self.solver.times(totals.step_ns, gpus)
            )
        if name == "memory":
            return totals.memory_kib
        if name == "bubble":
            return self.solver.over(totals.bubble_ns * SHARE, totals.step_ns)
        if name == "hfu":
            raise _refusal(
                NO_OBJECTIVE,
                "`hfu` cannot be optimised: recomputing more would win",
                objective.span,
                "use `mfu`",
            )
        return self.solver.variable(name)

    def _truth(self, expression: Expression, constraint: Constraint) -> Bounded:
        if not names(expression) & QUANTITIES.keys():
            return self._table(expression, constraint)
        match expression:
            case Call("not", (inner,)):
                return 1 - self._truth(inner, constraint)
            case Call("and", args):
                return _least(self.solver, [self._truth(arg, constraint) for arg in args])
            case Call("or", args):
                return self.solver.largest(*(self._truth(arg, constraint) for arg in args))
            case Call(op, (Name(name), bound)) if op in FLIPPED and name in QUANTITIES:
                return self._bound(name, op, bound, constraint)
            case Call(op, (bound, Name(name))) if op in FLIPPED and name in QUANTITIES:
                return self._bound(name, FLIPPED[op], bound, constraint)
        raise _refusal(
            NOT_A_BOUND,
            f"`{constraint.text}` does more with a quantity than compare it",
            constraint.span,
            "let the quantity stand alone on one side, such as `memory <= 70 GiB`",
        )

    def _table(self, expression: Expression, constraint: Constraint) -> Bounded:
        """The truth of a condition over decision variables alone."""
        of = tuple(sorted(names(expression)))
        columns = self._columns(of, constraint)
        truth = np.asarray(evaluate(expression, columns), dtype=np.int64)
        if not of:
            return constant(int(truth))
        return self.solver.tabulate(constraint.text, of, columns, truth)

    def _bound(self, name: str, op: str, bound: Expression, constraint: Constraint) -> Bounded:
        if names(bound) & QUANTITIES.keys() or op in ("==", "!="):
            raise _refusal(
                NOT_A_BOUND,
                f"`{constraint.text}` does not bound `{name}` from one side",
                constraint.span,
                f"write `{name} <= ...` or `{name} >= ...` with a value on the right",
            )
        value, integer, unit = self._measured(name)
        of = tuple(sorted({*names(bound), *integer.of}))
        columns = self._columns(of, constraint)
        limit = np.asarray(evaluate(bound, columns), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            threshold = np.asarray(integer.of_limit(limit, columns), dtype=np.float64)
        upper = op in ("<", "<=") if not integer.falls else op in (">", ">=")
        whole = np.floor(threshold * (1 + 1e-12)) if upper else np.ceil(threshold * (1 - 1e-12))
        whole = np.nan_to_num(np.clip(whole, -1, 2**60), nan=2.0**60 if upper else 0.0).astype(
            np.int64
        )
        side = (
            self.solver.tabulate(constraint.text, of, columns, whole)
            if of
            else constant(int(whole))
        )
        return _compare(self.solver, value, side * unit, upper)

    def _measured(self, name: str) -> tuple[Bounded, _Integer, int]:
        """The solver's value behind a quantity, and how a limit on the quantity becomes a limit on it."""
        if name == "memory":
            return self.totals.memory_kib, _Integer((), lambda limit, _: limit / 1024, False), 1
        if name == "bubble":
            share = self.solver.over(self.totals.bubble_ns * SHARE, self.totals.step_ns)
            return share, _Integer((), lambda limit, _: limit * SHARE, False), 1
        return self.totals.step_ns, _step_limits(self.case)[name], 1

    def _columns(self, of: tuple[str, ...], constraint: Constraint) -> dict[str, Any]:
        size = 1
        for name in of:
            size *= len(self.solver.values[name])
        if size > ROWS:
            raise _refusal(
                TOO_MANY_VARIABLES,
                f"`{constraint.text}` joins {len(of)} variables, {size:,} combinations",
                constraint.span,
                "split it into conditions of fewer variables",
            )
        return self.solver.combinations(of)


@dataclass(frozen=True)
class _Integer:
    """How a limit on a quantity becomes one on the solver's integer; `falls`:
    the quantity falls as the integer rises."""

    of: tuple[str, ...]
    of_limit: Callable[[Any, Any], Any]
    falls: bool


def _step_limits(case: Case) -> dict[str, _Integer]:
    """Limits on quantities that follow from step time, in nanoseconds of the step."""
    steps, peak = case.train.total_steps, case.job.peak_flops

    def hardware(limit: Any, columns: Any) -> Any:
        from .terms import Arrays

        layers = Arrays(case, columns).term(recomputed_total)
        done = case.model_flops + recomputed_flops(case, layers, columns["recompute"])
        return 1e9 * done / (limit * peak * columns["gpus"])

    return {
        "step_time": _Integer((), lambda limit, _: 1e9 * limit, False),
        "days": _Integer((), lambda limit, _: 1e9 * limit / steps, False),
        "tokens_per_second": _Integer((), lambda limit, _: 1e9 * case.step_tokens / limit, True),
        "mfu": _Integer(
            ("gpus",), lambda limit, at: 1e9 * case.model_flops / (limit * peak * at["gpus"]), True
        ),
        "hfu": _Integer(("gpus", "pp", "vpp", "recompute", "recompute_layers"), hardware, True),
        "cost": _Integer(
            ("gpus",),
            lambda limit, at: 1e9 * limit / (steps * gpu_dollars(case, at["gpus"])),
            False,
        ),
        "energy": _Integer(
            ("gpus",), lambda limit, at: 1e9 * limit / (steps * gpu_watts(case, at["gpus"])), False
        ),
    }


def _smaller_is_better(objective: Objective) -> bool:
    """Whether the measured expression is to be minimised: mfu and tokens_per_second fall as it rises."""
    inverse = objective.quantity in ("mfu", "tokens_per_second")
    return (objective.direction == "minimize") != inverse


def _least(solver: Solver, truths: list[Bounded]) -> Bounded:
    return 1 - solver.largest(*(1 - truth for truth in truths))


def _compare(solver: Solver, value: Bounded, side: Bounded, upper: bool) -> Bounded:
    """0 or 1: whether value <= side (`upper`) or value >= side."""
    gap = side - value if upper else value - side
    if gap.low >= 0:
        return constant(1)
    if gap.high < 0:
        return constant(0)
    met = solver.model.new_bool_var("")
    solver.model.add(gap.expression >= 0).only_enforce_if(met)
    solver.model.add(gap.expression < 0).only_enforce_if(~met)
    return Bounded(met, 0, 1)


def _refusal(code: str, message: str, span: Any, help: str) -> JobError:
    return JobError([Diagnostic(code, message, span, help=help)])
