"""The `goal` block -> objectives and conditions over decisions and quantities, names and units resolved."""

from .. import codes
from ..diagnostics import JobError, replaced, suggested
from ..expression import COUNTED, QUANTITIES, Call, Expression, Member
from ..job import WITHIN, Constraint, Goal, Objective
from ..report import Report, wrong
from ..syntax.tree import Clause, Comparison, Identifier, Node, Setting, size
from ..units import Measure
from .condition import Context, as_written, condition
from .evaluate import evaluate
from .spellings import CLAUSES as SPELT_CLAUSES
from .spellings import QUANTITIES as SPELLINGS

#: The setting of a goal: a share of the first objective, at most MOST_WITHIN.
WITHIN_KEY, MOST_WITHIN = "within", 0.2
#: Names, numbers and operators of all conditions together: each is a constraint of every search, and a goal
#: that nothing satisfies is searched once for each condition.
MOST_PARTS = 1_000
#: Members of a range or set that count as one more.
MEMBERS_OF_A_PART = 64
CLAUSES = ("maximize", "minimize", "require", "forbid", "prefer")


def read_goal(
    clauses: list[Clause], settings: list[Setting], context: Context, report: Report
) -> Goal:
    """All clauses in the order of the file; each broken one is reported and left out, and what comes after
    too many conditions is. `settings` are those of `within`."""
    within = WITHIN
    for place, setting in enumerate(settings):
        with report.catching():
            if place:
                message = f"`{WITHIN_KEY}` is there more than once"
                raise wrong(codes.DUPLICATE, message, setting.span, "keep one")
            within = _within(setting, context)
    objectives: list[Objective] = []
    constraints: list[Constraint] = []
    parts = 0
    for clause in clauses:
        if parts > MOST_PARTS:
            break
        with report.catching():
            match clause.keyword.name:
                case "maximize" | "minimize" as direction:
                    quantity = _objective(clause)
                    objectives.append(Objective(direction, quantity, clause.condition.span))
                case "require" | "forbid" | "prefer" as kind:
                    expression = condition(clause.condition, context)
                    parts += size(clause.condition) + _members(expression) // MEMBERS_OF_A_PART
                    if parts > MOST_PARTS:
                        raise _too_many(clause)
                    reason = clause.reason.value if clause.reason else None
                    span = clause.condition.span
                    constraints.append(Constraint(kind, expression, span, reason))
                case _:
                    raise _unknown_clause(clause)
    return Goal(tuple(objectives), tuple(constraints), within)


def _too_many(clause: Clause) -> JobError:
    message = (
        f"the conditions of a goal have over {MOST_PARTS:,} names, numbers and operators up to here"
    )
    help = "say several values at once, as in `tp in {1, 2, 4}`, and leave out what others imply"
    return wrong(codes.TOO_LARGE, message, clause.condition.span, help)


def _members(expression: Expression) -> int:
    """The values that ranges and sets of an expression list."""
    waiting, count = [expression], 0
    while waiting:
        current = waiting.pop()
        if isinstance(current, Call):
            waiting += current.args
        elif isinstance(current, Member):
            waiting.append(current.item)
            count += len(current.values)
    return count


def _within(setting: Setting, context: Context) -> float:
    """A share from 0 to MOST_WITHIN."""
    node = setting.value
    value = evaluate(node, context.names.lookup)
    if not isinstance(value, Measure) or not value.dimension.without_counts().bare:
        message = f"`{WITHIN_KEY}` takes a share, found `{as_written(node.span)}`"
        raise wrong(codes.WRONG_KIND, message, node.span, "such as `within = 1%`")
    if not 0 <= value.value <= MOST_WITHIN:
        message = f"`{WITHIN_KEY}` is {value.value:.4g}, outside 0% to {MOST_WITHIN:.0%}"
        raise wrong(codes.OUT_OF_BOUNDS, message, node.span)
    return float(value.value)


def _unknown_clause(clause: Clause) -> JobError:
    name = clause.keyword.name
    known = (*CLAUSES, WITHIN_KEY)
    help, fix = suggested(name, clause.keyword.span, known, SPELT_CLAUSES)
    help = help or f"a goal has {', '.join(known)}"
    return wrong(
        codes.UNKNOWN_BLOCK, f"unknown clause `{name}`", clause.keyword.span, help, fix=fix
    )


def _objective(clause: Clause) -> str:
    node, direction = clause.condition, clause.keyword.name
    if clause.reason:
        raise wrong(codes.MISPLACED, f"`{direction}` takes no reason", clause.reason.span)
    counted = COUNTED if direction == "minimize" else ()
    known = ", ".join((*QUANTITIES, *counted))
    if not isinstance(node, Identifier):
        raise _no_quantity(direction, node, known)
    if node.name not in (*QUANTITIES, *counted):
        help, fix = suggested(node.name, node.span, (*QUANTITIES, *counted), SPELLINGS)
        message = f"`{node.name}` is not a quantity to {direction}"
        help = help or f"quantities are {known}"
        raise wrong(codes.UNKNOWN_NAME, message, node.span, help, fix=fix)
    return node.name


def _no_quantity(direction: str, node: Node, known: str) -> JobError:
    """The complaint about an expression, such as an objective and its bound, `mfu >= 40%`, at once."""
    message = f"`{direction}` takes one quantity, found an expression"
    help, fix = f"quantities are {known}", None
    if isinstance(node, Comparison) and isinstance(first := node.operands[0], Identifier):
        text = f"{first.span.text}; require {as_written(node.span)}"
        help, fix = f"a condition is a clause of its own: `{text}`", replaced(node.span, text)
    return wrong(codes.NOT_A_CONDITION, message, node.span, help, fix=fix)
