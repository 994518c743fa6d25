"""The text of a program -> the options that it gives to argparse, a row each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Row = dict[str, str]
#: Actions of an option without a value.
_UNSET = {"store_true": "False", "store_false": "True"}
_SWITCHES = ("store_true", "store_false", "store_const", "count", "BooleanOptionalAction")


def options(text: str) -> list[Row]:
    """Rows of every call of `add_argument` in a text, whoever makes the call."""
    return [row for call in ast.walk(ast.parse(text)) for row in _rows(call)]


def _rows(node: ast.AST) -> Iterator[Row]:
    if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "add_argument":
        return
    named = {each.arg: each.value for each in node.keywords if each.arg}
    for argument in node.args:
        name = constant(argument)
        if isinstance(name, str) and name.startswith("--"):
            yield {"name": name, **_described(named)}


def _described(named: dict[str, ast.expr]) -> Row:
    action = named.get("action")
    does = "" if action is None else _last_name(action)
    if does in _SWITCHES:
        default = _word(constant(named.get("default"))) or _UNSET.get(does, "")
        return {"kind": "switch", "count": "", "choices": "", "default": default}
    return {
        "kind": _kind(named.get("type")),
        "count": _word(constant(named.get("nargs"))),
        "choices": "|".join(_choices(named.get("choices"))),
        "default": _word(constant(named.get("default"))),
    }


def _last_name(node: ast.expr) -> str:
    return str(constant(node) or getattr(node, "attr", None) or getattr(node, "id", ""))


def _kind(node: ast.expr | None) -> str:
    """The name of what reads the text, as `int`; `str` where nothing does; that of a lambda is not told."""
    if node is None:
        return "str"
    return "<lambda>" if isinstance(node, ast.Lambda) else _last_name(node)


def _choices(node: ast.expr | None) -> tuple[str, ...]:
    """The words, where they stand there as constants; none where they are computed."""
    if isinstance(node, ast.Call) and _last_name(node.func) == "range":
        bounds = [each for each in map(constant, node.args) if isinstance(each, int)]
        return tuple(map(str, range(*bounds))) if len(bounds) == len(node.args) else ()
    if isinstance(node, ast.Call) and _last_name(node.func) in ("list", "sorted") and node.args:
        return _choices(node.args[0])
    words = constant(node)
    return tuple(map(_word, words)) if isinstance(words, list | tuple) else ()


def constant(node: ast.expr | None) -> object:
    """The value of a constant, a negative number or a list of constants; None for what is computed."""
    if node is None:
        return None
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value


def _word(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_word, value))
    return "" if value is None else str(value)
