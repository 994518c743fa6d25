"""Names and paths of any kind come out of bash and Python as they went in."""

from __future__ import annotations

import ast
import subprocess

import pytest

from parc.backends.render import default_text, docstring, one_line, quoted_text

PATHS = (
    "/d/it's", "/d/<(x", "/d/>(x)", "a<(b'c", "$1/x", "$é", "${é}", "a\\N{x}", "/d/a\nb", "a#b", "~/x", "*?[",
    "ü", "a`b`", "}", "$", "$$", "${", "!x", "$'x'", '$"x"', '"""', "end\\", "$(x)", "a b",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("named", (True, False))
def test_bash_reads_a_path_as_it_is(path: str, named: bool) -> None:
    value = f"${{GIVEN:-{default_text(path)}}}" if named else quoted_text(path)
    script = f'set -eu\nP="{value}"\nprintf %s "$P"\n'
    read = subprocess.run(["bash"], input=script, capture_output=True, text=True)
    assert (read.returncode, read.stdout, read.stderr) == (0, path, "")


def test_variables_stay() -> None:
    for text in (default_text("$HOME/${A}"), quoted_text("$HOME/${A}")):
        assert text == "$HOME/${A}"


@pytest.mark.parametrize("name", PATHS)
def test_python_reads_a_name_as_it_is(name: str) -> None:
    module = ast.parse(f'"""A {docstring(name)}."""')
    assert ast.get_docstring(module, clean=False) == f"A {name}."


def test_a_comment_stays_one_line() -> None:
    assert one_line("a\nrm -rf\u2028b ü") == "a\\nrm -rf\\u2028b ü"
