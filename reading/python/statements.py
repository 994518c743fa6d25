"""Statements of a function or a module, in order; an undecided branch leaves unknown what it may change."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ..facts import Unknown
from . import expressions
from .machine import Frame, Machine, placed
from .values import Function, Placed, PythonValue, Tree, equal

#: How a list of statements ends: what it returns, `_RAISED`, or None where it comes to its end.
Ended = Placed | None
_RAISED = Placed(Unknown("it ends with an error"), 0, 0)


def follow(
    machine: Machine,
    function: Function,
    arguments: Sequence[Placed],
    keywords: Mapping[str, Placed],
) -> Placed:
    """The value that a function of the module returns for these arguments and defaults of the others."""
    frame = Frame(machine, {})
    node = function.node
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    defaults = [*node.args.defaults]
    for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        frame.names[name] = expressions.value(default, frame)
    for each, keyword in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        names.append(each.arg)
        if keyword is not None:
            frame.names[each.arg] = expressions.value(keyword, frame)
    given = dict(zip(names, arguments, strict=False)) | dict(keywords)
    frame.names |= {name: held for name, held in given.items() if name in names}
    extra = {name: held for name, held in given.items() if name not in names}
    for name in names:
        if name not in frame.names:
            frame.names[name] = placed(_parameter(name, machine, node), node)
    if node.args.kwarg is not None:
        frame.names[node.args.kwarg.arg] = placed(extra, node)
    return run(node.body, frame) or placed(None, node)


def _parameter(name: str, machine: Machine, node: ast.FunctionDef) -> Tree:
    """An argument that no caller here gives: what is set of it is known."""
    return machine.tree(
        "", node, Unknown(f"`{name}` is an argument that no call in this file gives")
    )


def run(body: Sequence[ast.stmt], frame: Frame) -> Ended:
    for index, statement in enumerate(body):
        frame.machine.step()
        match statement:
            case ast.Return(value=found):
                return expressions.value(found, frame) if found else placed(None, statement)
            case ast.Raise():
                return _RAISED
            case ast.If():
                return _branched(statement, body[index + 1 :], frame)
            case ast.With():
                for item in statement.items:
                    held = expressions.value(item.context_expr, frame)
                    if item.optional_vars is not None:
                        _bind(item.optional_vars, held, frame)
                ended = run(statement.body, frame)
                if ended is not None:
                    return ended
            case ast.Try(body=tried, finalbody=last):
                _maybe(frame, statement, partial(run, tried, frame))
                for handler in statement.handlers:
                    _maybe(frame, statement, partial(run, handler.body, frame))
                run(last, frame)
            case ast.For() | ast.While():
                _loop(statement, frame)
            case _:
                _simple(statement, frame)
    return None


def _simple(statement: ast.stmt, frame: Frame) -> None:
    match statement:
        case ast.Assign(targets=targets, value=found):
            held = expressions.value(found, frame)
            for target in targets:
                _bind(target, held, frame)
        case ast.AnnAssign(target=target, value=ast.expr() as found):
            _bind(target, expressions.value(found, frame), frame)
        case ast.AugAssign(target=target, op=op, value=found):
            shown = ast.copy_location(ast.BinOp(_read(target), op, found), statement)
            _bind(target, expressions.value(shown, frame), frame)
        case ast.Expr(value=found):
            expressions.value(found, frame)


def _read(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _bind(target: ast.expr, held: Placed, frame: Frame) -> None:
    match target:
        case ast.Name(id=name):
            frame.names[name] = held
        case ast.Attribute(value=of, attr=name):
            base = expressions.value(of, frame).value
            if isinstance(base, Tree):
                base.put(name, held)
        case ast.Subscript(value=of, slice=index):
            base, key = expressions.value(of, frame).value, expressions.value(index, frame).value
            if isinstance(base, dict) and isinstance(key, str):
                base[key] = held
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            items = held.value if isinstance(held.value, list) else []
            fits = len(items) == len(parts)
            for place, part in enumerate(parts):
                _bind(part, items[place] if fits else placed(expressions.COMPUTED, part), frame)


def _branched(statement: ast.If, rest: Sequence[ast.stmt], frame: Frame) -> Ended:
    """One way where the test is decided; else what both ways leave, a way that ends in an error left out."""
    if (test := _decided(statement.test, frame)) is not None:
        ended = run(statement.body if test else statement.orelse, frame)
        return ended if ended is not None else run(rest, frame)
    before = _taken(frame)
    first = run(statement.body, frame)
    left = _taken(frame)
    _restore(before, frame)
    second = run(statement.orelse, frame)
    if first is _RAISED:
        return second if second is not None else run(rest, frame)
    if second is _RAISED:
        _restore(left, frame)
        return first if first is not None else run(rest, frame)
    _merge(left, frame, statement)
    if first is None and second is None:
        return run(rest, frame)
    third = run(rest, frame) if first is None or second is None else None
    found = [each for each in (first, second, third) if each is not None and each is not _RAISED]
    same = all(each.value is found[0].value or equal(each, found[0]) for each in found)
    return (
        found[0]
        if found and same
        else placed(Unknown("branches return different things"), statement)
    )


def _decided(test: ast.expr, frame: Frame) -> bool | None:
    """`if __name__ == "__main__"` holds: the module is read as the program."""
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()]):
            return True
    return expressions.truth(test, frame)


def _loop(statement: ast.For | ast.While, frame: Frame) -> None:
    """Run once, as if it were not sure: what it leaves is known only where it was so before."""

    def once() -> Ended:
        if isinstance(statement, ast.For):
            unknown = placed(Unknown(f"the loop on line {statement.lineno} sets it"), statement)
            _bind(statement.target, unknown, frame)
        return run(statement.body, frame)

    _maybe(frame, statement, once)


def _maybe(frame: Frame, statement: ast.stmt, way: Callable[[], Ended]) -> None:
    """Follow statements that may or may not run to their end."""
    before = _taken(frame)
    way()
    left = _taken(frame)
    _restore(before, frame)
    _merge(left, frame, statement)


@dataclass(frozen=True)
class _State:
    names: dict[str, Placed]
    trees: list[tuple[Tree, dict[str, Placed], Unknown | None]]


def _taken(frame: Frame) -> _State:
    frame.machine.put_by()
    trees = [(tree, dict(tree.values), tree.rest) for tree in frame.machine.trees]
    return _State(dict(frame.names), trees)


def _restore(state: _State, frame: Frame) -> None:
    frame.names.clear()
    frame.names |= state.names
    for tree, values, rest in state.trees:
        tree.values, tree.rest = dict(values), rest


def _merge(other: _State, frame: Frame, statement: ast.stmt) -> None:
    """Keeps values that both branches leave equal; the rest becomes unknown."""
    unknown = Unknown(f"it is set in a branch on line {statement.lineno}")
    _same(frame.names, other.names, unknown, statement)
    for tree, values, rest in other.trees:
        _same(tree.values, values, unknown, statement)
        tree.rest = tree.rest or rest


def _same(
    here: dict[str, Placed], there: Mapping[str, Placed], unknown: Unknown, statement: ast.stmt
) -> None:
    for name in {*here, *there}:
        one, two = here.get(name), there.get(name)
        if one is not None and two is not None and equal(one, two):
            continue
        held = one or two
        if (one is None or two is None) and held is not None and _of_nothing(held.value):
            here[name] = held
        else:
            here[name] = placed(unknown, statement)


def _of_nothing(value: PythonValue) -> bool:
    """An object of which nothing was known when it was looked at; what was set of it is merged by itself."""
    return isinstance(value, Tree) and not value.head and value.rest is not None
