"""Texts of TOML, JSON, YAML and Python -> values and syntax trees, with bounded depth, time and memory.

The libraries that read them are recursive, and tomllib's time and memory grow with the square of the parts of
a dotted key; so what nobody writes by hand is refused before it is parsed.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from .expansion import MOST_NODES, refuse_expansion
from .files import OverLimit, TooLarge

if TYPE_CHECKING:
    import yaml

#: Characters of the longest TOML; a configuration takes a few kilobytes.
LONGEST_TOML = 256 * 1024
#: Characters of the longest YAML; the reader in Python takes a second for it.
LONGEST_YAML = 256 * 1024
#: Lists in lists, tables in tables, and parts of one dotted key.
DEEPEST = 32
#: Characters of the longest Python, and its words; a syntax tree takes a kilobyte for a name.
LONGEST_PYTHON, MOST_WORDS = 400_000, 100_000
#: Expressions in expressions of Python, and values in values of JSON.
DEEPEST_PYTHON = DEEPEST_JSON = 100
#: TOML 1.0 asks for whole numbers of 64 bits, which have 19 digits.
MOST_DIGITS = 100

#: What is no structure: comments and strings, those of several lines first. One that is open takes the
#: rest, so that no text is looked at twice; tomllib stops at it.
_OPAQUE = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|\#[^\n]*",
    re.DOTALL,
)
_JSON_MARK = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_DIGITS = re.compile(rf"[\d_]{{{MOST_DIGITS + 1}}}")


def toml_table(text: str) -> dict[str, Any]:
    """The table that a TOML text is. Raises `ValueError`, of which `TOMLDecodeError` is one."""
    if len(text) > LONGEST_TOML:
        raise TooLarge(len(text), LONGEST_TOML)
    bare = _OPAQUE.sub('""', text)
    if _depth(bare) > DEEPEST or _parts(bare) > DEEPEST:
        raise OverLimit(f"it is nested more than {DEEPEST} levels deep")
    if _DIGITS.search(bare):
        raise OverLimit(f"a number has more than {MOST_DIGITS} digits")
    return tomllib.loads(text)


def json_value(text: str) -> Any:
    """The value that a JSON text is. Raises `ValueError`."""
    if text.count("[") + text.count("{") > DEEPEST_JSON:
        marks = (match[0] for match in _JSON_MARK.finditer(text))
        if _deepest(mark for mark in marks if mark[0] != '"') > DEEPEST_JSON:
            raise OverLimit(f"it is nested more than {DEEPEST_JSON} levels deep")
    try:
        return json.loads(text, parse_int=_whole)
    except RecursionError:
        raise OverLimit("it is nested too deep") from None


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise OverLimit(f"a number has more than {MOST_DIGITS} digits")
    return int(digits)


def yaml_node(text: str) -> yaml.Node | None:
    """The first document of a YAML text, None for an empty one. Raises `ValueError`."""
    return next(iter(yaml_nodes(text)), None)


def yaml_nodes(text: str) -> list[yaml.Node]:
    """The documents of a YAML text as nodes with their places; nothing is built of them, and an alias stands
    for its anchor without a copy. Raises `ValueError`, also where a walk that follows every alias would visit
    more than expansion.py allows, or would not end: whoever gets a node may walk it."""
    import yaml

    if len(text) > LONGEST_YAML:
        raise TooLarge(len(text), LONGEST_YAML)
    kind = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_events(yaml.parse(text, Loader=kind))
        documents = list(yaml.compose_all(text, Loader=kind))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{place}{getattr(error, 'problem', None) or error}") from None
    refuse_expansion(documents, DEEPEST)
    return documents


def _refuse_events(events: Iterable[yaml.Event]) -> None:
    """Raises `OverLimit` before nodes are made: libyaml's composer has no bound."""
    import yaml

    depth = nodes = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        nodes += isinstance(event, yaml.NodeEvent)
        if depth > DEEPEST:
            raise OverLimit(f"it is nested more than {DEEPEST} levels deep")
        if nodes > MOST_NODES:
            raise OverLimit(f"it has over {MOST_NODES:,} keys and values")


@lru_cache(maxsize=1)
def python_module(text: str) -> ast.Module:
    """The syntax tree of a Python text, the same one for the readers that ask in turn. Raises `SyntaxError`
    for what is none, `ValueError` for what is too large or nested too deep."""
    if len(text) > LONGEST_PYTHON:
        raise TooLarge(len(text), LONGEST_PYTHON)
    if len(text) > MOST_WORDS and sum(1 for _ in re.finditer(r"\w+", text)) > MOST_WORDS:
        raise OverLimit(f"it has more than {MOST_WORDS:,} words")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "it is nested too deep") from None
    level: list[ast.AST] = [module]
    for _ in range(DEEPEST_PYTHON):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if any(map(_is_long, level)):
            raise OverLimit(f"a number has more than {MOST_DIGITS} digits")
        if not level:
            return module
    raise OverLimit(f"it is nested more than {DEEPEST_PYTHON} levels deep")


def _is_long(node: ast.AST) -> bool:
    """Whether a node is a whole number of too many digits."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int) and value >= 10**MOST_DIGITS


def _depth(bare: str) -> int:
    """The most brackets that are open at one place of a text without strings."""
    return _deepest(re.findall(r"[\[\]{}]", bare))


def _deepest(brackets: Iterable[str]) -> int:
    return max(accumulate(1 if mark in "[{" else -1 for mark in brackets), default=0)


def _parts(bare: str) -> int:
    """The parts of the longest dotted key; numbers have two at most."""
    return max(word.count(".") for word in re.split(r"[=,\[\]{}\n]", bare)) + 1
