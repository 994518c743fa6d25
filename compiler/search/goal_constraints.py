"""A goal's constraints and objectives -> CP-SAT: literals that are 1 exactly where a constraint's expression
is true, and expressions to minimise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic

import numpy as np

from ...dsl.diagnostics import Diagnostic, JobError, Span
from ...dsl.expression import COUNTED, QUANTITIES, Call, Expression, Name, evaluate, names
from ...dsl.job import Constraint, Objective
from .. import risk
from ..algebra import (
    LIMIT,
    Algebra,
    Array,
    Bounded,
    Column,
    Integers,
    Mask,
    Value,
    constant,
    term,
)
from ..case import Case
from ..codes import NO_OBJECTIVE, NOT_A_BOUND, TOO_MANY_VARIABLES
from ..pipeline.rank_load import RECOMPUTING
from ..pricing.goodput import goodput, prices_failures
from ..pricing.quantities import (
    INVERSE,
    SHARE,
    gpu_dollars,
    gpu_watts,
    recomputed_flops,
    recomputed_layers,
)
from .cp_sat_algebra import CpSatAlgebra

#: Relative floating-point error of a limit; an integer that no total reaches.
ROUNDING, FARTHEST = 1e-12, 2**60
#: Most combinations of variables that the table of one constraint may have.
ROWS = 200_000
#: Slower steps (9.8 hours) are infeasible; the bound keeps products of solver integers from overflowing.
LONGEST_STEP_NS = 2**45
MICRO = 1000
#: Units of a step's time that are weighed, by WEIGHT at most, with what a run takes of each: there may be so
#: many in a step, 37 minutes of microseconds, or 9.8 hours of 16 where some nodes may take so long.
MOST_UNITS, COARSE = 2**41 // MICRO, 16
#: The share of the GPUs' rate below which no layout of interest trains.
LEAST_MFU = 0.05
ONE = np.ones((), dtype=np.int64)
WEIGHT = LIMIT // MOST_UNITS
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True)
class Totals(Generic[Value]):
    """Step time, bubble and memory of a layout as values of an algebra."""

    step_ns: Value
    bubble_ns: Value
    memory_kib: Value


def minimised(
    x: Algebra[Value], totals: Totals[Value], objective: Objective, one_size: bool
) -> Value:
    """An objective as an integer to minimise; `one_size`: all layouts have the same number of GPUs.
    Raises JobError for `hfu`."""
    value = _measure(x, totals, objective, one_size)
    return value if _smaller_is_better(objective) else value * -1


def _measure(
    x: Algebra[Value], totals: Totals[Value], objective: Objective, one_size: bool
) -> Value:
    name = objective.quantity
    if name in COUNTED:
        return x.variable("nodes") * fewest_first(x.case) + totals.step_ns
    if name in OF_THE_RUN and not one_size and prices_failures(x.case):
        return x.times(x.over(totals.step_ns, _unit_ns(x.case)), x.term(OF_THE_RUN[name]))
    if name in ("step_time", "days", "tokens_per_second"):
        return totals.step_ns
    if name in ("mfu", "cost", "energy"):
        return totals.step_ns if one_size else x.times(totals.step_ns, x.variable("nodes"))
    if name in ("memory", "risk"):
        return totals.memory_kib
    if name == "hfu":
        raise _refusal(
            NO_OBJECTIVE,
            "`hfu` cannot be optimised: recomputing more would win",
            objective.span,
            "use `mfu`",
        )
    return bubble_share(x, totals)


def longest_step_ns(case: Case) -> int:
    """The longest feasible step, so short that its product with the GPUs, or with what a run takes of each
    microsecond of it, stays below 2**62."""
    goal, sizes = case.job.goal.objectives, case.cluster.nodes
    weighed = len(sizes) > 1 and any(each.quantity in OF_THE_RUN for each in goal)
    longest = LONGEST_STEP_NS
    if weighed and prices_failures(case):
        longest = MOST_UNITS * _unit_ns(case)
    return min(longest, 2**61 // (max(case.cluster.nodes) * case.cluster.gpus_per_node))


def _unit_ns(case: Case) -> int:
    """Nanoseconds of a unit of a step's time: a microsecond, or 16 where steps on the fewest nodes may be
    longer than so many of them."""
    gpus = min(case.cluster.nodes) * case.cluster.gpus_per_node
    ideal_ns = 1e9 * case.model_flops / (case.job.peak_flops * gpus)
    return MICRO if ideal_ns < LEAST_MFU * MOST_UNITS * MICRO else COARSE * MICRO


def fewest_first(case: Case) -> int:
    """The weight of a node against nanoseconds of a step, so that the fewest nodes are best and among them
    the fastest layout."""
    return longest_step_ns(case) + 1


def _weights(case: Case, nodes: Column, every: Column, cost: Column) -> Column:
    """The share that a run takes of each unit of a step's time, the most as WEIGHT: `cost` of each of
    `nodes`, over their goodput; `every` are the costs of all nodes that the job allows."""
    choices = np.asarray(case.cluster.nodes)
    most = np.max(every / goodput(case, choices * case.cluster.gpus_per_node))
    return WEIGHT / most * cost / goodput(case, np.asarray(nodes) * case.cluster.gpus_per_node)


@term("run / unit", of=("nodes",))
def wall_clock(case: Case, nodes: Column) -> Column:
    """Wall-clock time for each unit of a step's time."""
    return _weights(case, nodes, 1.0, 1.0)


@term("run nodes / unit", of=("nodes",))
def node_time(case: Case, nodes: Column) -> Column:
    """Time of all nodes for each unit of a step's time."""
    return _weights(case, nodes, np.asarray(case.cluster.nodes), nodes)


#: What a run takes by quantity, where its goodput falls as it takes more nodes.
OF_THE_RUN = {"days": wall_clock, "cost": node_time, "energy": node_time}


def bubble_share(x: Algebra[Value], totals: Totals[Value]) -> Value:
    """The bubble's share of a step in 1 / SHARE, rounded down."""
    return x.share(totals.bubble_ns, totals.step_ns, SHARE)


class GoalConstraints:
    """Constraints and objectives of a goal as expressions over one CP-SAT model."""

    def __init__(self, solver: CpSatAlgebra, totals: Totals[Bounded]):
        self.solver = solver
        self.case: Case = solver.case
        self.totals = totals

    def literal(self, constraint: Constraint) -> Bounded:
        """0 or 1: whether the expression of a constraint is true, of whichever kind the constraint is.
        Raises JobError where it does more with a quantity than bound it, or joins too many variables.
        """
        return self._truth(constraint.expression, constraint)

    def objective(self, objective: Objective) -> Bounded:
        """An expression to minimise."""
        return constant(minimised(self.solver, self.totals, objective, self.solver.space.one_size))

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
        """The truth of an expression over variables alone, as a table."""
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
        value, integer = self._measured(name)
        of = tuple(sorted({*names(bound), *integer.of}))
        columns = self._columns(of, constraint)
        limit = np.asarray(evaluate(bound, columns), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            threshold = np.asarray(integer.of_limit(limit, columns), dtype=np.float64)
            if integer.falls:
                threshold = np.where(limit <= 0, np.inf, threshold)
            upper, strict = (op in ("<", "<=")) != integer.falls, op in ("<", ">")
            whole = _whole(threshold, np.isnan(limit), upper, strict)
        side = (
            self.solver.tabulate(constraint.text, of, columns, whole)
            if of
            else constant(int(whole))
        )
        return _compare(self.solver, value, side, upper)

    def _measured(self, name: str) -> tuple[Bounded, _Integer]:
        """The total from which a quantity follows, and how a limit on one becomes a limit on the other."""
        if name == "memory":
            return self.totals.memory_kib, _Integer((), lambda limit, _: limit / 1024, False)
        if name == "risk":
            found, spread = self.case.gpu.memory, self.case.target.memory_spread
            within = np.vectorize(
                lambda limit: risk.bytes_at(limit, found, spread) / 1024, otypes=[float]
            )
            return self.totals.memory_kib, _Integer((), lambda limit, _: within(limit), False)
        if name == "bubble":
            share = bubble_share(self.solver, self.totals)
            return share, _Integer((), lambda limit, _: limit * SHARE, False)
        return self.totals.step_ns, _step_limits(self.case)[name]

    def _columns(self, of: tuple[str, ...], constraint: Constraint) -> dict[str, Integers]:
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
    """How a limit on a quantity becomes one on a total: `of_limit(limit, columns)` with columns of the
    variables `of`. `falls`: the quantity falls as the total rises."""

    of: tuple[str, ...]
    of_limit: Callable[[Array, Mapping[str, Integers]], Array]
    falls: bool


def _whole(threshold: Array, undefined: Mask, upper: bool, strict: bool) -> Integers:
    """The extreme integer that each limit allows; none is allowed where the limit is undefined (NaN).

    A threshold of 0 / 0 belongs to a quantity that is always 0 and to a limit of 0: the cost of free GPUs.
    """
    below, above = np.floor(threshold * (1 + ROUNDING)), np.ceil(threshold * (1 - ROUNDING))
    whole = (above - 1 if strict else below) if upper else (below + 1 if strict else above)
    none, every = (-1, FARTHEST) if upper else (FARTHEST, -1)
    whole = np.where(np.isnan(whole), none if strict else every, np.clip(whole, -1, FARTHEST))
    return np.where(undefined, none, whole).astype(np.int64)


def _step_limits(case: Case) -> dict[str, _Integer]:
    """How limits on the quantities that follow from step time become limits in nanoseconds."""
    steps, peak = case.job.full_batches, case.job.peak_flops

    def hardware(limit: Array, columns: Mapping[str, Integers]) -> Array:
        layers = recomputed_layers(case, columns)
        done = case.model_flops + recomputed_flops(case, layers, columns["recompute"])
        return 1e9 * done / (limit * peak * columns["gpus"])

    def of_run(limit: Array, gpus: Integers) -> Array:
        return 1e9 * limit * goodput(case, gpus) / steps

    sizes = ("gpus",) if prices_failures(case) else ()
    return {
        "step_time": _Integer((), lambda limit, _: 1e9 * limit, False),
        "days": _Integer(sizes, lambda limit, at: of_run(limit, at.get("gpus", ONE)), False),
        "tokens_per_second": _Integer((), lambda limit, _: 1e9 * case.step_tokens / limit, True),
        "mfu": _Integer(
            ("gpus",), lambda limit, at: 1e9 * case.model_flops / (limit * peak * at["gpus"]), True
        ),
        "hfu": _Integer(("gpus", *RECOMPUTING), hardware, True),
        "cost": _Integer(
            ("gpus",),
            lambda limit, at: of_run(limit, at["gpus"]) / gpu_dollars(case, at["gpus"]),
            False,
        ),
        "energy": _Integer(
            ("gpus",),
            lambda limit, at: of_run(limit, at["gpus"]) / gpu_watts(case, at["gpus"]),
            False,
        ),
    }


def _smaller_is_better(objective: Objective) -> bool:
    """Whether the measured total is to be minimised; quantities of INVERSE fall as it rises."""
    return (objective.direction == "minimize") != (objective.quantity in INVERSE)


def _least(solver: CpSatAlgebra, truths: list[Bounded]) -> Bounded:
    """The conjunction of 0-1 expressions."""
    return 1 - solver.largest(*(1 - truth for truth in truths))


def _compare(solver: CpSatAlgebra, value: Bounded, side: Bounded, upper: bool) -> Bounded:
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


def _refusal(code: str, message: str, span: Span | None, help: str) -> JobError:
    return JobError([Diagnostic(code, message, span, help=help)])
