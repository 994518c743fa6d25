"""The `goal` block -> objectives and conditions over decisions and quantities, names and units resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import BaseModel

from .. import codes
from ..diagnostics import JobError, Span, did_you_mean
from ..expression import QUANTITIES, VALUES, VARIABLES, Call, Const, Expression, Member, Name, names
from ..job import Constraint, Goal, Objective
from ..report import Report, already_told, wrong
from ..schema import rules
from ..syntax.tree import (
    Binary,
    Clause,
    Collection,
    Comparison,
    Function,
    Membership,
    Node,
    Number,
    Range,
    Text,
    Unary,
    Word,
    words,
)
from ..units import NUMBER, Dimension, Measure, dimension, said
from .evaluate import (
    Constant,
    Interval,
    Members,
    agree,
    called,
    check_call,
    combined,
    evaluate,
    interval,
    said_of,
)
from .scope import Names

#: A range longer than this is posted as two comparisons instead of its members.
_MAX_MEMBERS = 4096
_MAX_CHAIN = 8


@dataclass(frozen=True)
class Term:
    """A resolved expression; `constant` is its value where it speaks of no decision."""

    expression: Expression
    dimension: Dimension
    condition: bool = False
    constant: Measure | None = None

    @property
    def zero(self) -> bool:
        return self.constant is not None and self.constant.zero


@dataclass(frozen=True)
class Context:
    """What a goal may speak of besides decisions: constants, and settings of the job by dotted name.

    A block that could not be built is None; what needs it is left alone.
    """

    names: Names
    blocks: Mapping[str, BaseModel | None]
    memory_bytes: int | None

    def lookup(self, word: Word) -> Constant:
        head, *path = word.name.split(".")
        if not path or head not in self.blocks:
            return self._constant(word)
        owner: object = self.blocks[head]
        for step in path[:-1]:
            owner = getattr(owner, step, None)
        if self.blocks[head] is None:
            raise already_told()
        return _setting(owner, path[-1], word)

    def _constant(self, word: Word) -> Constant:
        try:
            return self.names.lookup(word)
        except JobError as error:
            near = did_you_mean(word.name, (*VARIABLES, *QUANTITIES))
            told = [replace(d, help=d.help or near) for d in error.diagnostics]
            raise JobError(told) from None


def _setting(owner: object, key: str, word: Word) -> Constant:
    known = rules(type(owner)) if isinstance(owner, BaseModel) else {}
    if key not in known:
        help = did_you_mean(key, known)
        raise wrong(codes.UNKNOWN_NAME, f"unknown setting `{word.name}`", word.span, help)
    value = getattr(owner, key)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return Measure(value, known[key].dimension)
    if known[key].kind == "choices":
        help = f"the chosen value is `{key}`"
        raise wrong(codes.WRONG_KIND, f"`{word.name}` is a choice", word.span, help)
    raise wrong(codes.WRONG_KIND, f"`{word.name}` has no value to calculate with", word.span)


def read_goal(clauses: list[Clause], context: Context, report: Report) -> Goal:
    """All clauses in the order of the file; each broken one is told and left out."""
    objectives: list[Objective] = []
    constraints: list[Constraint] = []
    for clause in clauses:
        with report.catching():
            match clause.keyword.name:
                case "maximize" | "minimize" as direction:
                    quantity = _objective(clause)
                    objectives.append(Objective(direction, quantity, clause.condition.span))
                case "require" | "forbid" | "prefer" as kind:
                    expression = _condition(clause.condition, context)
                    reason = clause.reason.value if clause.reason else None
                    span = clause.condition.span
                    constraints.append(Constraint(kind, expression, span, reason))
                case _:
                    raise _unknown_clause(clause)
    return Goal(objectives=tuple(objectives), constraints=tuple(constraints))


CLAUSES = ("maximize", "minimize", "require", "forbid", "prefer")


def _unknown_clause(clause: Clause) -> JobError:
    name = clause.keyword.name
    help = did_you_mean(name, CLAUSES) or f"a goal has {', '.join(CLAUSES)}"
    return wrong(codes.UNKNOWN_BLOCK, f"unknown clause `{name}`", clause.keyword.span, help)


def _objective(clause: Clause) -> str:
    node, direction = clause.condition, clause.keyword.name
    if clause.reason:
        raise wrong(codes.MISPLACED, f"`{direction}` takes no reason", clause.reason.span)
    known = ", ".join(QUANTITIES)
    if not isinstance(node, Word):
        message = f"`{direction}` takes one quantity, found an expression"
        raise wrong(codes.NOT_A_CONDITION, message, node.span, f"quantities are {known}")
    if node.name not in QUANTITIES:
        help = did_you_mean(node.name, QUANTITIES) or f"quantities are {known}"
        message = f"`{node.name}` is no quantity to {direction}"
        raise wrong(codes.UNKNOWN_NAME, message, node.span, help)
    return node.name


def _condition(node: Node, context: Context) -> Expression:
    term = _resolve(node, context)
    if not term.condition:
        message = f"`{_text(node.span)}` is {said(term.dimension)}, no condition"
        raise wrong(codes.NOT_A_CONDITION, message, node.span, "compare it with something")
    if not names(term.expression):
        verdict = (
            "true" if isinstance(term.expression, Const) and term.expression.value else "false"
        )
        message = f"`{_text(node.span)}` is always {verdict}: it speaks of no decision or quantity"
        help = f"decisions are {', '.join(VARIABLES)}; quantities are {', '.join(QUANTITIES)}"
        raise wrong(codes.NOT_A_CONDITION, message, node.span, help)
    return term.expression


def _text(span: Span) -> str:
    return " ".join(span.text.split())


def _free(node: Node) -> bool:
    """Whether an expression speaks of no decision and no quantity."""
    return not any(word.name in VARIABLES or word.name in QUANTITIES for word in words(node))


def _resolve(node: Node, context: Context) -> Term:
    if _free(node):
        return _constant(node, context)
    match node:
        case Word(name):
            measured = dimension(QUANTITIES[name]) if name in QUANTITIES else NUMBER
            return Term(Name(name), measured)
        case Unary("not", operand):
            return Term(Call("not", (_truth(operand, context),)), NUMBER, condition=True)
        case Unary(_, operand):
            inner = _number(operand, context)
            return Term(Call("neg", (inner.expression,)), inner.dimension)
        case Binary("and" | "or" as op, left, right):
            sides = _truth(left, context), _truth(right, context)
            return Term(Call(op, sides), NUMBER, condition=True)
        case Binary(op, left, right):
            first, second = _number(left, context), _number(right, context)
            expression = Call(op, (first.expression, second.expression))
            return Term(expression, combined(op, first, second, node))
        case Comparison():
            return _comparison(node, context)
        case Membership():
            return _membership(node, context)
        case Function(name, args):
            check_call(node)
            terms = [_number(arg, context) for arg in args]
            return Term(Call(name, tuple(t.expression for t in terms)), called(node, terms))
    raise wrong(codes.WRONG_KIND, "a range or set stands only after `in`", node.span)


def _constant(node: Node, context: Context) -> Term:
    value = evaluate(node, context.lookup)
    match value:
        case bool():
            return Term(Const(float(value)), NUMBER, condition=True)
        case Measure(number, measured):
            return Term(Const(number), measured, constant=value)
    message = f"expected a number or a condition, found {said_of(value)}"
    raise wrong(codes.WRONG_KIND, message, node.span)


def _number(node: Node, context: Context) -> Term:
    term = _resolve(node, context)
    if term.condition:
        raise wrong(codes.WRONG_KIND, f"`{_text(node.span)}` is a condition, no number", node.span)
    return term


def _truth(node: Node, context: Context) -> Expression:
    term = _resolve(node, context)
    if not term.condition:
        message = f"`{_text(node.span)}` is {said(term.dimension)}, no condition"
        raise wrong(codes.NOT_A_CONDITION, message, node.span)
    return term.expression


def _comparison(node: Comparison, context: Context) -> Term:
    if len(node.ops) > _MAX_CHAIN:
        message = f"{len(node.ops)} comparisons in a row, at most {_MAX_CHAIN} are read"
        raise wrong(codes.TOO_LARGE, message, node.span)
    result: Expression | None = None
    for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
        link = _compared(op, left, right, context)
        result = link if result is None else Call("and", (result, link))
    assert result is not None
    return Term(result, NUMBER, condition=True)


def _compared(op: str, left: Node, right: Node, context: Context) -> Expression:
    first, second = _operand(left, right, context), _operand(right, left, context)
    first, second = _as_share(first, second, context), _as_share(second, first, context)
    agree(op, first, second, left.span, right.span)
    return Call(op, (first.expression, second.expression))


def _operand(node: Node, other: Node, context: Context) -> Term:
    """One side of a comparison; beside `recompute` and its like it is one of their words."""
    if isinstance(other, Word) and other.name in VALUES:
        return _word(node, other.name)
    return _number(node, context)


def _word(node: Node, variable: str) -> Term:
    known = VALUES[variable]
    if isinstance(node, Word | Text | Number):
        text = {Word: "name", Text: "value", Number: "text"}[type(node)]
        value = known.get(getattr(node, text))
        if value is not None:
            return Term(Const(value), NUMBER, constant=Measure(value))
    listed = ", ".join(f"`{word}`" for word in known)
    help = did_you_mean(_text(node.span), known) or f"it is one of {listed}"
    message = f"`{variable}` does not know `{_text(node.span)}`"
    raise wrong(codes.UNKNOWN_WORD, message, node.span, help)


def _as_share(term: Term, other: Term, context: Context) -> Term:
    """A percentage beside bytes is that share of the GPU's memory."""
    if term.constant is None or not term.constant.share or str(other.dimension) != "B":
        return term
    if context.memory_bytes is None:
        raise already_told()
    value = Measure(term.constant.value * context.memory_bytes, other.dimension)
    return Term(Const(value.value), value.dimension, constant=value)


def _membership(node: Membership, context: Context) -> Term:
    item, collection = node.item, node.collection
    if isinstance(item, Word) and item.name in VALUES and isinstance(collection, Collection):
        found = [_word(member, item.name) for member in collection.items]
        return _member(node, _number(item, context), found, context)
    term = _number(item, context)
    if not _free(collection):
        message = "the ends of a range and the members of a set are constants"
        raise wrong(codes.WRONG_KIND, message, collection.span, "compare with `<=` and `>=`")
    if isinstance(collection, Collection):
        terms = [_constant(member, context) for member in collection.items]
        return _member(node, term, terms, context)
    value = (
        interval(collection, context.lookup)
        if isinstance(collection, Range)
        else evaluate(collection, context.lookup)
    )
    match value:
        case Interval():
            return _between(node, term, value, context)
        case Members(items) if all(isinstance(member, Measure) for member in items):
            numbers = [member for member in items if isinstance(member, Measure)]
            return _member(node, term, [_of(member) for member in numbers], context)
    message = f"`in` needs a set or a range, found {said_of(value)}"
    raise wrong(codes.WRONG_KIND, message, collection.span)


def _of(value: Measure) -> Term:
    return Term(Const(value.value), value.dimension, constant=value)


def _member(node: Membership, item: Term, members: list[Term], context: Context) -> Term:
    if not members:
        raise wrong(codes.BAD_RANGE, "the set is empty", node.collection.span)
    values: list[float] = []
    for member in members:
        shared = _as_share(member, item, context)
        if shared.constant is None:
            raise wrong(codes.WRONG_KIND, "the set holds a condition", node.collection.span)
        agree("in", item, shared, node.item.span, node.collection.span)
        values.append(shared.constant.value)
    expression = Member(item.expression, tuple(values), node.negated)
    return Term(expression, NUMBER, condition=True)


def _between(node: Membership, item: Term, value: Interval, context: Context) -> Term:
    """A range over decisions is written out; over quantities, or too long, it is two comparisons."""
    low, high = (_as_share(_of(bound), item, context) for bound in (value.low, value.high))
    for bound in (low, high):
        agree("in", item, bound, node.item.span, node.collection.span)
    ends = value.low.value, value.high.value
    if names(item.expression) <= set(VARIABLES) and ends[1] - ends[0] < _MAX_MEMBERS:
        if isinstance(ends[0], int) and isinstance(ends[1], int):
            members = tuple(float(member) for member in range(ends[0], ends[1] + 1))
            return Term(Member(item.expression, members, node.negated), NUMBER, condition=True)
        raise wrong(codes.BAD_RANGE, "the range has no whole ends", node.collection.span)
    above = Call(">=", (item.expression, low.expression))
    below = Call("<=", (item.expression, high.expression))
    both: Expression = Call("and", (above, below))
    return Term(Call("not", (both,)) if node.negated else both, NUMBER, condition=True)
