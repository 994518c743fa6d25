"""Texts of TOML, JSON and Python -> values and syntax trees, with bounded depth, time and memory.

The libraries that read them are recursive, and tomllib's time and memory grow with the square of the parts of
a dotted key; so what nobody writes by hand is refused before it is parsed.
"""

import ast
import json
import re
import tomllib
import warnings
from itertools import accumulate
from typing import Any

from .files import TooLarge

#: Characters of the longest TOML; a configuration takes a few kilobytes.
LONGEST_TOML = 256 * 1024
#: Lists in lists, tables in tables, and parts of one dotted key.
DEEPEST = 32
#: Expressions in expressions of Python.
DEEPEST_PYTHON = 100
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
_DIGITS = re.compile(rf"[\d_]{{{MOST_DIGITS + 1}}}")


def toml_table(text: str) -> dict[str, Any]:
    """The table that a TOML text is. Raises `ValueError`, of which `TOMLDecodeError` is one."""
    if len(text) > LONGEST_TOML:
        raise TooLarge(len(text), LONGEST_TOML)
    bare = _OPAQUE.sub('""', text)
    if _depth(bare) > DEEPEST or _parts(bare) > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    if _DIGITS.search(bare):
        raise ValueError(f"a number has more than {MOST_DIGITS} digits")
    return tomllib.loads(text)


def json_value(text: str) -> Any:
    """The value that a JSON text is. Raises `ValueError`."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def python_module(text: str) -> ast.Module:
    """The syntax tree of a Python text. Raises `SyntaxError` for what is none, or is nested too deep."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "it is nested too deep") from None
    level: list[ast.AST] = [module]
    for _ in range(DEEPEST_PYTHON):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return module
    raise SyntaxError(f"it is nested more than {DEEPEST_PYTHON} levels deep")


def _depth(bare: str) -> int:
    """The most brackets that are open at one place."""
    steps = (1 if mark in "[{" else -1 for mark in re.findall(r"[\[\]{}]", bare))
    return max(accumulate(steps), default=0)


def _parts(bare: str) -> int:
    """The parts of the longest dotted key; numbers have two at most."""
    return max(word.count(".") for word in re.split(r"[=,\[\]{}\n]", bare)) + 1
