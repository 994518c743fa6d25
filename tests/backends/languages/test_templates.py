"""No value enters an emitted file but through the writer of its language, wherever a template inserts it."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import DictLoader
from jinja2.exceptions import UndefinedError

from parc.backends.languages import bash, python, toml
from parc.backends.languages.templates import environment, language_of
from tests.support.paths import ROOT

#: Templates of launch files; those of the report are HTML, which Jinja's own autoescape writes.
TEMPLATES = sorted(
    path.relative_to(ROOT / "templates")
    for path in ROOT.glob("templates/**/*.j2")
    if path.parent.name != "report"
)
PRODUCT = ("backends", "calibrate", "cli", "compiler", "dsl", "lint", "reading", "smoke")
LANGUAGES = ROOT / "backends/languages"
HOSTILE = "'\"`touch a`$(touch b) \\ {x} #\n; touch c\n"


def rendered(name: str, text: str, **values: object) -> str:
    made = environment().overlay(loader=DictLoader({name: text}))
    return made.get_template(name).render(**values)


def product_files() -> Iterator[Path]:
    for room in PRODUCT:
        yield from (path for path in (ROOT / room).rglob("*.py") if LANGUAGES not in path.parents)


BASH = {
    "code": "say {{ x }}\n",
    "command": 'say "$(printf %s {{ x }}_)"\n',
    "value": "say ${GIVEN:-{{ x }}}\n",
    "double": 'say "{{ x }}"\n',
    "default": 'say "${GIVEN:-{{ x }}}"\n',
    "single": "say '{{ x }}'\n",
    "comment": "say 1 # {{ x }}\n# {{ x }}\n",
}


@pytest.mark.parametrize("place", BASH)
def test_a_forgotten_text_is_quoted_in_bash(place: str, tmp_path: Path) -> None:
    text = HOSTILE.rstrip("\n") + "!"
    script = "say() { printf '%s\\n' \"$@\"; }\n" + rendered("x.sh.j2", BASH[place], x=text)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    wanted = {"comment": "1", "command": f"{text}_"}.get(place, text)
    assert (done.stdout, done.stderr) == (f"{wanted}\n", "")
    assert not list(tmp_path.iterdir())


PYTHON = {
    "code": "x = {{ x }}\n",
    "single": "x = '{{ x }}'\n",
    "double": 'x = "{{ x }}"\n',
    "docstring": 'x = """{{ x }}"""\n',
    "comment": "x = 1  # {{ x }}\n",
}


@pytest.mark.parametrize("place", PYTHON)
def test_a_forgotten_text_is_quoted_in_python(place: str) -> None:
    (statement,) = ast.parse(rendered("x.py.j2", PYTHON[place], x=HOSTILE)).body
    assert isinstance(statement, ast.Assign)
    assert ast.literal_eval(statement.value) == (1 if place == "comment" else HOSTILE)


@pytest.mark.parametrize("text", ("x = {{ x }}", 'x = "{{ x }}"', 'x = "y" # {{ x }}'))
def test_a_forgotten_text_is_quoted_in_toml(text: str) -> None:
    (value,) = tomllib.loads(rendered("x.toml.j2", text, x=HOSTILE)).values()
    assert value == ("y" if "#" in text else HOSTILE)


def test_a_forgotten_text_is_quoted_in_a_directive() -> None:
    text = "#SBATCH --{{ x }}\n#SBATCH --account={{ y }}\n"
    assert rendered("x.sbatch.j2", text, x="a b'", y=8) == (
        '#SBATCH --"a b\\\'"\n#SBATCH --account=8\n'
    )
    with pytest.raises(ValueError, match="no directive"):
        rendered("x.sbatch.j2", text, x="a\n--b", y=8)


def test_text_of_a_language_stands_as_it_is_in_code_alone() -> None:
    written = bash.code("$(true)")
    assert rendered("x.sh.j2", '{{ x }} "{{ x }}"', x=written) == '$(true) "\\$(true)"'
    assert rendered("x.py.j2", "{{ x }}", x=written) == '"$(true)"'
    assert rendered("x.py.j2", "{{ x }}", x=python.name("a.b")) == "a.b"
    assert rendered("x.toml.j2", "{{ x }}", x=toml.key("a")) == "a"


def test_strings_of_a_template_are_its_text() -> None:
    assert rendered("x.py.j2", 'f(x{{ ", y" if y }})', y=True) == "f(x, y)"
    assert rendered("x.py.j2", 'f({{ y or "z" }})', y="a") == 'f("a")'
    assert rendered("x.py.j2", 'f({{ ("a" ~ y) }})', y="b") == 'f("ab")'


def test_what_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        rendered("x.sh.j2", "{{ missing }}")
    with pytest.raises(TypeError, match="is no text"):
        rendered("x.sh.j2", "{{ x }}", x=None)
    with pytest.raises(ValueError, match="no language"):
        rendered("x.yaml.j2", "{{ x }}", x="1")


def test_no_way_around_the_writers_in_jinja() -> None:
    text = "{% macro m() %}a;{% endmacro %}{% set block %}b;{% endset %}{{ m() }}, {{ block }}"
    assert rendered("x.py.j2", text) == '"a;", "b;"'


@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_a_template_closes_what_it_opens(template: Path) -> None:
    made, language = environment(), language_of(template.name)
    source = (ROOT / "templates" / template).read_text()
    open: tuple[str, ...] = ("code",)
    for _, kind, value in made.lex(source):
        if kind == "data":
            open = language.behind(open, value)
    assert open == ("code",)
    assert "safe" not in re.findall(r"\|\s*(\w+)", source)


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))


def test_text_of_a_language_is_made_by_its_writers_alone() -> None:
    """Elsewhere nothing calls the classes, and `code` takes what the program states as it is."""
    built = (ast.JoinedStr, ast.BinOp)
    made = {"Bash", "Python", "Toml", "Sbatch", "Written"}
    for path in product_files():
        for call in calls(path):
            name = ast.unparse(call.func)
            assert name not in made, f"{path}:{call.lineno}"
            if name.endswith(".code") and name.split(".")[0] in ("bash", "python"):
                assert not isinstance(call.args[0], built), f"{path}:{call.lineno}"


def test_templates_are_filled_in_at_one_place() -> None:
    for path in product_files():
        text = path.read_text()
        jinja = re.findall(r"\b(?:jinja2|get_template|from_string|markupsafe)\b", text)
        assert not jinja or path == ROOT / "backends/render.py", path
