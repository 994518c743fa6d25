"""TOML, JSON and Python of any shape: read or refused, in bounded time and memory."""

from __future__ import annotations

import ast
import json
import time
import tomllib
import tracemalloc
from collections.abc import Callable

import pytest

from parc.dsl.inputs.documents import DEEPEST, json_value, python_module, toml_table

#: What made a reader hang, take gigabytes or end with a traceback, by reader.
HOSTILE: list[tuple[Callable[[str], object], str, str]] = [
    (toml_table, ".".join("a" * 30_000) + " = 1", "nested more than 32"),
    (toml_table, "[" + ".".join("a" * 30_000) + "]", "nested more than 32"),
    (toml_table, "x = {" + ".".join("a" * 30_000) + " = 1}", "nested more than 32"),
    (toml_table, "x = " + "[" * 50_000, "nested more than 32"),
    (toml_table, "x = " + "{a = " * 50_000, "nested more than 32"),
    (toml_table, "x = " + "9" * 5_000, "more than 100 digits"),
    (toml_table, "x = '" + "9" * 300_000 + "'", "at most 262,144 are read"),
    (toml_table, "x = " + '"\\' * 100_000, "end of document"),
    (json_value, "[" * 100_000, "nested more than 100"),
    (json_value, '{"a":' * 500 + "1" + "}" * 500, "nested more than 100"),
    (json_value, "9" * 5_000, "digits"),
    (json_value, f'[1, {{"a": -{"9" * 101}}}]', "more than 100 digits"),
    (python_module, "x = " + "(" * 5_000, "nested|too"),
    (python_module, "x = " + "-" * 50_000 + "1", "nested|deep|memory|too complex"),
    (python_module, "x = " + "f(" * 150 + ")" * 150, "nested more than 100"),
    (python_module, "x = " + "+".join("a" * 5_000), "nested|deep|recursion"),
    (python_module, "x = 1\0", "null"),
    (python_module, f"x = f(1, a=-{'9' * 101})", "more than 100 digits"),
    (python_module, "#" * 400_001, "at most 400,000 are read"),
    (python_module, "a\n" * 199_999, "more than 100,000 words"),
]


@pytest.mark.parametrize("case", range(len(HOSTILE)))
def test_hostile_texts_are_refused_at_once(case: int) -> None:
    read, text, said = HOSTILE[case]
    started = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, SyntaxError), match=said):
            read(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 5
    assert peak < 100 * 2**20


def test_what_is_in_strings_and_comments_is_no_structure() -> None:
    dots, brackets, digits = "a." * 100, "[{" * 100, "9" * 200
    text = (
        f'# {dots}{brackets}"""\na = "{dots}\\"{brackets}"\nb = \'{brackets}"\'\n'
        f'c = """\n{dots}\n"{digits}"\n{brackets}\n"""\nd = \'\'\'\n{dots}\n\'\'\'\n'
        f"e = [{', '.join(['0.5'] * 500)}]\n"
    )
    assert toml_table(text) == tomllib.loads(text)


def test_what_people_write_is_read() -> None:
    assert toml_table("[a.b]\nc.d = [1.5, {e = 2}]") == {"a": {"b": {"c": {"d": [1.5, {"e": 2}]}}}}
    deepest = f"x = {'[' * DEEPEST}{']' * DEEPEST}"
    assert toml_table(deepest) == tomllib.loads(deepest)
    assert json_value('{"a": [1, null]}') == json.loads('{"a": [1, null]}')
    wide = json.dumps([{"a": '["{' * 200, "b": [-(10**99)]}] * 200)
    assert json_value(wide) == json.loads(wide)
    assert ast.dump(python_module("x = f(1)\n")) == ast.dump(ast.parse("x = f(1)\n"))
