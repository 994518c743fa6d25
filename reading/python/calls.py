"""A call -> what it gives: an object of a class, what a function of the module returns, or an unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from ..facts import Unknown
from . import expressions
from .machine import DEEPEST, Frame, placed
from .values import Function, Placed, PythonValue, Symbol, Tree

#: Functions of NeMo-Run and of functools that name a class or a function, and give its arguments.
CONFIGS = frozenset({"Config", "Partial", "partial"})
#: Functions of Megatron-Bridge that set how experts' tokens travel and what is captured in a CUDA graph, and
#: leave everything else of a configuration (training/flex_dispatcher_backend.py, utils/cuda_graph.py).
TUNERS = frozenset(
    [
        "apply_flex_dispatcher_backend",
        "set_cuda_graph_modules",
        "clear_cuda_graph_modules",
        "set_full_iteration_cuda_graph",
    ]
)
#: Functions that take a configuration and leave it as it is.
READERS = frozenset(
    [
        "run",
        "add",
        "pretrain",
        "finetune",
        "train",
        "validate",
        "fit",
        "setup",
        "main",
        "experiment",
        "print",
        "pprint",
        "info",
        "debug",
        "warning",
        "error",
        "len",
        "isinstance",
        "hasattr",
        "getattr",
        "str",
        "repr",
        "type",
        "id",
        "to_yaml",
        "asdict",
        "print_yaml",
        "save",
        "dump",
        "dumps",
        "list",
        "dict",
        "set",
        "tuple",
        "trainer_strategy",
        "append",
        "extend",
        "dryrun",
    ]
)
_TEXTS: Mapping[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "strip": str.strip,
}
_COUNTS: Mapping[str, Callable[[list[int | float]], int | float]] = {"max": max, "min": min}


def called(node: ast.Call, frame: Frame) -> Placed:
    arguments, keywords = _arguments(node, frame)
    if isinstance(node.func, ast.Attribute):
        base = expressions.value(node.func.value, frame)
        if not isinstance(base.value, Symbol):
            return _method(base, node.func, node, frame)
        target: PythonValue = Symbol(f"{base.value.name}.{node.func.attr}")
    else:
        target = expressions.value(node.func, frame).value
    if isinstance(target, Function):
        return _followed(target, arguments, keywords, node, frame)
    if isinstance(target, Symbol):
        return _named(target, arguments, keywords, node, frame)
    _changed("a call", arguments, keywords)
    return placed(expressions.COMPUTED, node)


def _arguments(node: ast.Call, frame: Frame) -> tuple[list[Placed], dict[str, Placed]]:
    found: list[Placed] = []
    for each in node.args:
        starred = isinstance(each, ast.Starred)
        held = expressions.value(each.value if isinstance(each, ast.Starred) else each, frame)
        if starred and isinstance(held.value, list):
            found += held.value
        elif not starred:
            found.append(held)
    keywords: dict[str, Placed] = {}
    for keyword in node.keywords:
        held = expressions.value(keyword.value, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = held
        elif isinstance(held.value, dict):
            keywords |= held.value
    return found, keywords


def _method(base: Placed, func: ast.Attribute, node: ast.Call, frame: Frame) -> Placed:
    """A method of a value: of texts a few; of objects it gives what nobody here knows."""
    text = _TEXTS.get(func.attr)
    if isinstance(base.value, str) and text is not None:
        return placed(text(base.value), node)
    if isinstance(base.value, dict) and func.attr == "get" and node.args:
        key = expressions.value(node.args[0], frame).value
        if isinstance(key, str) and key in base.value:
            return base.value[key]
    if isinstance(base.value, Unknown):
        return placed(base.value, node)
    if func.attr in ("parse_args", "parse_known_args"):
        made = _command_line(node, frame)
        return made if func.attr == "parse_args" else placed([made, made], node)
    rest = Unknown(f"what `{func.attr}` gives is not in this file")
    if isinstance(base.value, Tree):
        return placed(frame.machine.tree(func.attr, node, rest), node)
    return placed(rest, node)


def _command_line(node: ast.Call, frame: Frame) -> Placed:
    """The arguments of the command line, with the defaults that the module gives them."""
    made = frame.machine.tree("parse_args", node, Unknown("it is given on the command line"))
    made.values |= frame.machine.options
    return placed(made, node)


def _followed(
    target: Function,
    arguments: Sequence[Placed],
    keywords: Mapping[str, Placed],
    node: ast.Call,
    frame: Frame,
) -> Placed:
    machine = frame.machine
    if machine.depth >= DEEPEST:
        _changed(target.node.name, arguments, keywords)
        return placed(Unknown(f"`{target.node.name}` is not followed"), node)
    machine.depth += 1
    try:
        return machine.follow(machine, target, arguments, keywords)
    finally:
        machine.depth -= 1


def _named(
    target: Symbol,
    arguments: Sequence[Placed],
    keywords: Mapping[str, Placed],
    node: ast.Call,
    frame: Frame,
) -> Placed:
    """The value of a call of another module's function or class."""
    if target.last in CONFIGS and arguments:
        return _configured(arguments[0], keywords, node, frame)
    if target.last in ("parse_args", "get_args"):
        return _command_line(node, frame)
    if target.name == "int" and len(arguments) == 1:
        held = arguments[0]
        return held if isinstance(held.value, int | Unknown) else placed(expressions.COMPUTED, node)
    if target.name in _COUNTS:
        return placed(_extreme(target.name, arguments), node)
    rest = None
    if not target.is_class:
        rest = Unknown(f"what `{target.last}` gives is not in this file")
    made = frame.machine.tree(target.last, node, rest)
    reads = target.is_class or target.last in READERS
    if not reads and target.last not in TUNERS:
        _changed(target.last, arguments, keywords)
    for index, each in enumerate(arguments):
        if reads or not isinstance(each.value, Tree):
            made.values[str(index)] = each
    made.values |= keywords
    return placed(made, node)


def _configured(of: Placed, keywords: Mapping[str, Placed], node: ast.Call, frame: Frame) -> Placed:
    """`run.Config(nl.Trainer, devices=8)`: what `nl.Trainer(devices=8)` would make."""
    head, rest = "", Unknown("it is computed what this configures")
    match of.value:
        case Symbol() as symbol:
            head = symbol.last
        case Function(node=function):
            head = function.name
    made = frame.machine.tree(head, node, None if head[:1].isupper() else rest)
    made.values |= keywords
    return placed(made, node)


def _extreme(name: str, arguments: Sequence[Placed]) -> PythonValue:
    values = [each.value for each in arguments]
    known = [each for each in values if isinstance(each, int | float)]
    if not known or len(known) < len(values):
        return next((each for each in values if isinstance(each, Unknown)), expressions.COMPUTED)
    return _COUNTS[name](known)


def _changed(name: str, arguments: Sequence[Placed], keywords: Mapping[str, Placed]) -> None:
    """A function that is not followed may change every object that it is given."""
    for each in (*arguments, *keywords.values()):
        if isinstance(each.value, Tree):
            each.value.forget(Unknown(f"`{name}` may change it, and is not in this file"))
