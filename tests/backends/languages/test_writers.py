"""Any text comes out of bash, Python, TOML, JSON and sbatch as their writers were given it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from parc.backends.languages import bash, python, sbatch, toml
from parc.backends.languages import json as json_writer
from parc.backends.languages.language import Written
from tests.support.bash_launches import command, said
from tests.support.drawn_sizes import INPUTS
from tests.support.hostile_texts import LINES, PIECES
from tests.support.inverses import directive_values, words_of_bash

TEXTS = (
    "/d/it's", "/d/<(x", "/d/>(x)", "a<(b'c", "$1/x", "$é", "${é}", "a\\N{x}", "/d/a\nb", "a#b",
    "# \"", "~/x", "a#\"", "*?[", "\r\n", "ü", "a`b`", "}", "$", "$$", "${", "!x", "$'x'", '$"x"',
    '"""', "end\\", "$(x)", "a b", "", "-n", "\r", "\x7f", "a\x01b\x7fc", "\u2028", "coding: latin-1",
    "\u202e", "{{ 7 }}",
)  # fmt: skip
ANY = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
MIXED = st.lists(st.sampled_from((*PIECES, *LINES)) | ANY, max_size=6).map("".join)
MANY = st.lists(MIXED, min_size=60, max_size=60)
QUICK = settings(max_examples=INPUTS, database=None)
#: Real bash is started for each example.
BASH = settings(QUICK, max_examples=max(2, INPUTS // 60), phases=(Phase.generate,))

#: A way to write a text -> a line of bash whose first word behind `say` it is.
IN_BASH: dict[str, Callable[[str], str]] = {
    "word": lambda text: f"say {bash.word(text)}",
    "quoted": lambda text: f"say {bash.quoted(text)}",
    "path": lambda text: f"say {bash.path(text)}",
    "inside": lambda text: f'say "{bash.inside(text)}"',
    "array": lambda text: f'A=(x={bash.word(text)} "{bash.inside(text)}"); say "${{A[1]}}"',
    "default": lambda text: f'say "${{GIVEN:-{bash.default(text)}}}"',
    "replaceable": lambda text: f'{bash.replaceable("X", text)}; say "$X"; unset X',
    "exported": lambda text: f'{bash.exported("X", text)}; say "$X"; unset X',
    "fixed": lambda text: f'{bash.fixed("X", text)}; say "$X"; unset X',
    "comment": lambda text: f"{bash.noted(bash.code('say x'), text)}\n{bash.remark(text)}",
}
#: In these `$NAME` and `${NAME}` stay variables.
VARIABLES = ("path", "inside", "array", "default", "replaceable", "exported")


def kept(way: str, text: str) -> str:
    """The text without what this way takes for a variable."""
    return text.replace("$", "%") if way in VARIABLES else text


@pytest.mark.parametrize("way", IN_BASH)
@BASH
@given(MANY)
def test_bash_reads_a_text_as_it_is(way: str, texts: list[str]) -> None:
    wanted = [kept(way, text) for text in (*texts, *TEXTS)]
    found = words_of_bash([IN_BASH[way](text) for text in wanted])
    assert found == (["x"] * len(wanted) if way == "comment" else wanted)


@pytest.mark.parametrize("way", VARIABLES)
def test_a_lone_dollar_stays_a_dollar(way: str) -> None:
    texts = ("$", "$$", "$1", "$é", "${", "${é}", "a$", "$(x)", "$'x'", '$"x"')
    assert words_of_bash([IN_BASH[way](text) for text in texts]) == list(texts)


@pytest.mark.parametrize("way", [way for way in IN_BASH if way != "comment"])
@QUICK
@given(MIXED)
def test_the_reader_of_bash_agrees(way: str, text: str) -> None:
    text = kept(way, text)
    # Of a file most of whose lines end with `\r\n` the reader takes off the `\r`.
    script = "\n" * 99 + IN_BASH[way](text).replace("say ", "torchrun train.py ")
    assert said(command(script))[-1] == text


@pytest.mark.parametrize("way", [way for way in IN_BASH if way != "comment"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_reader_of_bash_agrees_on_what_it_once_misread(way: str, text: str) -> None:
    text = kept(way, text)
    script = "\n" * 9 + IN_BASH[way](text).replace("say ", "torchrun train.py ")
    assert said(command(script))[-1] == text


def test_variables_stay() -> None:
    for written in (bash.default("$HOME/${A}"), bash.inside("$HOME/${A}"), bash.path("$HOME/${A}")):
        assert written.strip('"') == "$HOME/${A}"
    assert bash.word("$HOME") == '"\\$HOME"'


@QUICK
@given(MIXED)
def test_python_reads_a_text_as_it_is(text: str) -> None:
    strings = python.LANGUAGE
    assert ast.literal_eval(python.literal(text)) == text
    for mark, place in (("'", "single"), ('"', "double"), ('"""', "docstring")):
        assert ast.literal_eval(f"{mark}{strings.write(place, text)}{mark}") == text
    assert ast.dump(ast.parse(f"x = 1  # {python.comment(text)}")) == ast.dump(ast.parse("x = 1"))


@pytest.mark.parametrize("text", ("coding: latin-9", "coding=no-such", "vim: set fileencoding=x :"))
def test_a_comment_is_no_encoding_of_its_file(text: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"{python.remark(text)}\nprint('é')\n", encoding="utf-8")
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert ran.stdout == "é\n"


@QUICK
@given(MIXED, MIXED)
def test_toml_reads_a_text_as_it_is(text: str, name: str) -> None:
    written = f"{toml.noted(toml.setting(name, text), text, 0)}\n# {toml.comment(text)}\n"
    assert tomllib.loads(written) == {name: text}
    assert tomllib.loads(f'x = "{toml.LANGUAGE.write("double", text)}"') == {"x": text}
    parts = [part for part in name.split(".") if part] or ["x"]
    (inner,) = tomllib.loads(f"[{toml.table('.'.join(parts))}]\n").items()
    assert inner[0] == parts[0]


@QUICK
@given(MIXED, MIXED)
def test_json_reads_a_text_as_it_is(text: str, name: str) -> None:
    assert json.loads(json_writer.document({name: [text]})) == {name: [text]}


@QUICK
@given(MIXED.filter(sbatch.holds), st.sampled_from(["account", "comment", "mail-user"]))
def test_a_directive_is_read_as_it_is(text: str, name: str) -> None:
    script = f"#!/bin/bash\n#SBATCH --{sbatch.directive(name, text)}\n#SBATCH --nodes=2\n"
    assert directive_values(script) == [text, "2"]


NUMBERS = (0, 8, -1, 1.5, 1e-5, 3e300)


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_numbers(number: float) -> None:
    assert float(words_of_bash([f"say {bash.word(number)}"])[0]) == number
    assert ast.literal_eval(python.literal(number)) == number
    assert tomllib.loads(f"x = {toml.value(number)}") == {"x": number}


WRITERS: tuple[Callable[[str], Written], ...] = (
    bash.word, bash.inside, bash.default, bash.quoted, bash.code, python.code, toml.key, toml.value,
    sbatch.value,
)  # fmt: skip


@pytest.mark.parametrize("text", ("a\0b", "\udcff ", "\ud800$"))
@pytest.mark.parametrize(
    "writer", WRITERS, ids=lambda writer: f"{writer.__module__}.{writer.__name__}"
)
def test_what_no_file_holds_is_never_written(writer: Callable[[str], Written], text: str) -> None:
    with pytest.raises(ValueError, match="no (file|directive)"):
        writer(text)


@pytest.mark.parametrize("text", ("a\nb", "a\rb", "", "\x85", "\u2028"))
def test_a_directive_is_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="no directive"):
        sbatch.value(text)


@pytest.mark.parametrize("text", ("a b", "a;b", "1a", "", "a\n", "a-b"))
def test_names_are_names(text: str) -> None:
    for writer in (bash.name, bash.variable, python.name, python.number):
        with pytest.raises(ValueError):
            writer(text)
