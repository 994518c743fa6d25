"""A condition of a goal, a tree of syntax -> an expression over decisions and quantities, units checked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import BaseModel

from .. import codes
from ..diagnostics import JobError, Span, did_you_mean, replaced, suggested
from ..expression import (
    QUANTITIES,
    VALUES,
    VARIABLES,
    Call,
    Const,
    Expression,
    Member,
    Name,
    names,
)
from ..report import already_reported, wrong
from ..schema import setting_types
from ..syntax.tree import (
    Binary,
    Collection,
    Comparison,
    Function,
    Identifier,
    Membership,
    Node,
    Number,
    Range,
    Text,
    Unary,
    names_in,
)
from ..units import NUMBER, Dimension, Measure, dimension, in_words
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
    kind_of,
)
from .scope import Names
from .spellings import CHOSEN, DECISIONS
from .spellings import QUANTITIES as SPELLINGS
from .word_order import TURNED, numbers

#: A range longer than this is posted as two comparisons instead of its members.
_MAX_MEMBERS = 4096
_MAX_CHAIN = 8


@dataclass(frozen=True)
class Resolved:
    """A resolved expression; `constant` is its value where it contains no decision and no quantity."""

    expression: Expression
    dimension: Dimension
    condition: bool = False
    constant: Measure | None = None

    @property
    def zero(self) -> bool:
        return self.constant is not None and self.constant.zero


@dataclass(frozen=True)
class Context:
    """Names that a goal may refer to other than decisions: constants, and settings of the job by dotted name.

    A block that could not be built is None; references to it are not reported again.
    """

    names: Names
    blocks: Mapping[str, BaseModel | None]
    memory_bytes: int | None

    def lookup(self, identifier: Identifier) -> Constant:
        head, *path = identifier.name.split(".")
        if not path or head not in self.blocks:
            return self._constant(identifier)
        owner: object = self.blocks[head]
        for step in path[:-1]:
            owner = getattr(owner, step, None)
        if self.blocks[head] is None:
            raise already_reported()
        return _setting(owner, path[-1], identifier)

    def _constant(self, identifier: Identifier) -> Constant:
        try:
            return self.names.lookup(identifier)
        except JobError as error:
            name, place = identifier.name, identifier.span
            known = (*VARIABLES, *QUANTITIES)
            near, fix = suggested(name, place, known, {**DECISIONS, **SPELLINGS})
            own = {key: type(block) for key, block in self.blocks.items() if block is not None}
            owners = [key for key, kind in own.items() if name in setting_types(kind)]
            if len(owners) == 1:
                meant = f"{owners[0]}.{name}"
                near, fix = f"did you mean `{meant}`?", replaced(place, meant)
            helped = [
                replace(d, help=d.help or near, fix=d.fix if d.help else fix)
                for d in error.diagnostics
            ]
            raise JobError(helped) from None


def _setting(owner: object, key: str, identifier: Identifier) -> Constant:
    known = setting_types(type(owner)) if isinstance(owner, BaseModel) else {}
    if key not in known:
        help = did_you_mean(key, known)
        raise wrong(
            codes.UNKNOWN_NAME, f"unknown setting `{identifier.name}`", identifier.span, help
        )
    value = getattr(owner, key)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return Measure(value, known[key].dimension)
    if known[key].kind == "choices":
        help = f"the chosen value is `{key}`"
        raise wrong(codes.WRONG_KIND, f"`{identifier.name}` is a choice", identifier.span, help)
    raise wrong(
        codes.WRONG_KIND, f"`{identifier.name}` has no value to calculate with", identifier.span
    )


def condition(node: Node, context: Context) -> Expression:
    """Raises JobError where it is no condition, or always or never true."""
    try:
        resolved = _resolve(node, context)
    except JobError as error:
        raise (_hyphened(node.span) or error) from None
    if not resolved.condition:
        message = f"`{as_written(node.span)}` is {in_words(resolved.dimension)}, not a condition"
        raise wrong(codes.NOT_A_CONDITION, message, node.span, "compare it with something")
    if not names(resolved.expression):
        verdict = (
            "true"
            if isinstance(resolved.expression, Const) and resolved.expression.value
            else "false"
        )
        message = f"`{as_written(node.span)}` is always {verdict}: it contains no decision and no quantity"
        help = f"decisions are {', '.join(VARIABLES)}; quantities are {', '.join(QUANTITIES)}"
        raise wrong(codes.NOT_A_CONDITION, message, node.span, help)
    return resolved.expression


def _hyphened(span: Span) -> JobError | None:
    """The complaint about `--tensor-model-parallel-size == 4`, which reads as a difference."""
    for found in re.finditer(
        r"(?<![\w.-])-{0,2}([A-Za-z]\w*(?:-[A-Za-z]\w*)+)(?![\w-])", span.text
    ):
        name = found[1].lower().replace("-", "_")
        meant = name if name in (*VARIABLES, *QUANTITIES) else {**DECISIONS, **SPELLINGS}.get(name)
        if meant is not None:
            place = Span(span.source, *(span.start + end for end in found.span()))
            help, fix = f"did you mean `{meant}`?", replaced(place, meant)
            return wrong(codes.UNKNOWN_NAME, f"unknown name `{found[0]}`", place, help, fix=fix)
    return None


def as_written(span: Span) -> str:
    """The text of a place, on one line."""
    return " ".join(span.text.split())


def _free(node: Node) -> bool:
    """Whether an expression contains no decision and no quantity."""
    return not any(word.name in VARIABLES or word.name in QUANTITIES for word in names_in(node))


def _resolve(node: Node, context: Context) -> Resolved:
    if _free(node):
        return _constant(node, context)
    match node:
        case Identifier(name):
            measured = dimension(QUANTITIES[name]) if name in QUANTITIES else NUMBER
            return Resolved(Name(name), measured)
        case Unary("not", operand):
            return Resolved(Call("not", (_truth(operand, context),)), NUMBER, condition=True)
        case Unary(_, operand):
            inner = _number(operand, context)
            return Resolved(Call("neg", (inner.expression,)), inner.dimension)
        case Binary("and" | "or" as op, left, right):
            sides = _truth(left, context), _truth(right, context)
            return Resolved(Call(op, sides), NUMBER, condition=True)
        case Binary(op, left, right):
            first, second = _number(left, context), _number(right, context)
            expression = Call(op, (first.expression, second.expression))
            return Resolved(expression, combined(op, first, second, node))
        case Comparison():
            return _comparison(node, context)
        case Membership():
            return _membership(node, context)
        case Function(name, args):
            check_call(node)
            operands = [_number(arg, context) for arg in args]
            return Resolved(
                Call(name, tuple(t.expression for t in operands)), called(node, operands)
            )
    raise wrong(codes.WRONG_KIND, "a range or set is allowed only after `in`", node.span)


def _constant(node: Node, context: Context) -> Resolved:
    value = evaluate(node, context.lookup)
    match value:
        case bool():
            return Resolved(Const(float(value)), NUMBER, condition=True)
        case Measure(number, measured):
            return Resolved(Const(number), measured, constant=value)
    message = f"expected a number or a condition, found {kind_of(value)}"
    plain = isinstance(node, Text) and re.fullmatch(r"[0-9][0-9.]*( ?%| ?[A-Za-z$]+)?", node.value)
    help, fix = (f"write `{plain[0]}`", replaced(node.span, plain[0])) if plain else (None, None)
    raise wrong(codes.WRONG_KIND, message, node.span, help, fix=fix)


def _number(node: Node, context: Context) -> Resolved:
    resolved = _resolve(node, context)
    if resolved.condition:
        raise wrong(
            codes.WRONG_KIND, f"`{as_written(node.span)}` is a condition, not a number", node.span
        )
    return resolved


def _truth(node: Node, context: Context) -> Expression:
    resolved = _resolve(node, context)
    if not resolved.condition:
        message = f"`{as_written(node.span)}` is {in_words(resolved.dimension)}, not a condition"
        raise wrong(codes.NOT_A_CONDITION, message, node.span)
    return resolved.expression


def _comparison(node: Comparison, context: Context) -> Resolved:
    if len(node.ops) > _MAX_CHAIN:
        message = f"{len(node.ops)} comparisons in a row, at most {_MAX_CHAIN} are read"
        raise wrong(codes.TOO_LARGE, message, node.span)
    result: Expression | None = None
    for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
        link = _compared(op, left, right, context)
        result = link if result is None else Call("and", (result, link))
    assert result is not None
    return Resolved(result, NUMBER, condition=True)


def _compared(op: str, left: Node, right: Node, context: Context) -> Expression:
    if op in TURNED and isinstance(right, Identifier) and right.name in VALUES:
        op, left, right = TURNED[op], right, left
    if op in TURNED and isinstance(left, Identifier) and left.name in VALUES:
        bound = _word(right, left.name).constant
        assert bound is not None
        return Member(Name(left.name), numbers(op, left.name, bound.value))
    first, second = _operand(left, right, context), _operand(right, left, context)
    first, second = _as_share(first, second, context), _as_share(second, first, context)
    agree(op, first, second, left.span, right.span)
    return Call(op, (first.expression, second.expression))


def _operand(node: Node, other: Node, context: Context) -> Resolved:
    """One side of a comparison. Compared with a variable that has words (`VALUES`), it is one of them."""
    if isinstance(other, Identifier) and other.name in VALUES:
        return _word(node, other.name)
    if isinstance(node, Identifier) and isinstance(other, Identifier) and node.name in _ZERO_STAGES:
        raise _switched(node, other)
    return _number(node, context)


#: A switch of sharding, as the stage of ZeRO.
_ZERO_STAGES = {
    "true": "3", "full": "3", "full_shard": "3", "hybrid_shard": "3", "shard_grad_op": "2",
    "false": "0", "none": "0", "no_shard": "0",
}  # fmt: skip


def _switched(node: Identifier, other: Identifier) -> JobError:
    """The complaint about `zero == true`."""
    message = f"`{other.name}` is a number, found `{node.name}`"
    help, fix = f"it is compared with a number, such as `{other.name} == 1`", None
    if other.name == "zero":
        stage = _ZERO_STAGES[node.name]
        help, fix = f"write `{stage}`", replaced(node.span, stage)
    return wrong(codes.WRONG_KIND, message, node.span, help, fix=fix)


def _word(node: Node, variable: str) -> Resolved:
    known = VALUES[variable]
    if isinstance(node, Identifier | Text | Number):
        text = {Identifier: "name", Text: "value", Number: "text"}[type(node)]
        value = known.get(getattr(node, text))
        if value is not None:
            return Resolved(Const(value), NUMBER, constant=Measure(value))
    listed = ", ".join(f"`{word}`" for word in known)
    help, fix = suggested(as_written(node.span), node.span, known, CHOSEN)
    message = f"`{variable}` does not know `{as_written(node.span)}`"
    raise wrong(codes.UNKNOWN_WORD, message, node.span, help or f"it is one of {listed}", fix=fix)


def _as_share(resolved: Resolved, other: Resolved, context: Context) -> Resolved:
    """A percentage compared with bytes becomes that share of the GPU's memory, in bytes."""
    if resolved.constant is None or not resolved.constant.share or str(other.dimension) != "B":
        return resolved
    if context.memory_bytes is None:
        raise already_reported()
    value = Measure(resolved.constant.value * context.memory_bytes, other.dimension)
    return Resolved(Const(value.value), value.dimension, constant=value)


def _membership(node: Membership, context: Context) -> Resolved:
    item, collection = node.item, node.collection
    if isinstance(item, Identifier) and item.name in VALUES and isinstance(collection, Collection):
        found = [_word(member, item.name) for member in collection.items]
        return _member(node, _number(item, context), found, context)
    resolved = _number(item, context)
    if not _free(collection):
        message = "the ends of a range and the members of a set are constants"
        raise wrong(codes.WRONG_KIND, message, collection.span, "compare with `<=` and `>=`")
    if isinstance(collection, Collection):
        operands = [_constant(member, context) for member in collection.items]
        return _member(node, resolved, operands, context)
    value = (
        interval(collection, context.lookup)
        if isinstance(collection, Range)
        else evaluate(collection, context.lookup)
    )
    match value:
        case Interval():
            return _between(node, resolved, value, context)
        case Members(items) if all(isinstance(member, Measure) for member in items):
            numbers = [member for member in items if isinstance(member, Measure)]
            return _member(node, resolved, [_of(member) for member in numbers], context)
    message = f"`in` needs a set or a range, found {kind_of(value)}"
    raise wrong(codes.WRONG_KIND, message, collection.span)


def _of(value: Measure) -> Resolved:
    return Resolved(Const(value.value), value.dimension, constant=value)


def _member(
    node: Membership, item: Resolved, members: list[Resolved], context: Context
) -> Resolved:
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
    return Resolved(expression, NUMBER, condition=True)


def _between(node: Membership, item: Resolved, value: Interval, context: Context) -> Resolved:
    """A range of decisions is written out as a set; of quantities, or if too long, it is two comparisons."""
    low, high = (_as_share(_of(bound), item, context) for bound in (value.low, value.high))
    for bound in (low, high):
        agree("in", item, bound, node.item.span, node.collection.span)
    ends = value.low.value, value.high.value
    if names(item.expression) <= set(VARIABLES) and ends[1] - ends[0] < _MAX_MEMBERS:
        if isinstance(ends[0], int) and isinstance(ends[1], int):
            members = tuple(float(member) for member in range(ends[0], ends[1] + 1))
            return Resolved(Member(item.expression, members, node.negated), NUMBER, condition=True)
        raise wrong(
            codes.BAD_RANGE, "the ends of the range must be whole numbers", node.collection.span
        )
    above = Call(">=", (item.expression, low.expression))
    below = Call("<=", (item.expression, high.expression))
    both: Expression = Call("and", (above, below))
    return Resolved(Call("not", (both,)) if node.negated else both, NUMBER, condition=True)
