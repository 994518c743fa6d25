"""Jinja templates, in which each `{{ ... }}` goes through the writer of its language for its place.

The language follows from the name: `.sh.j2` and `.sbatch.j2` are bash, `.py.j2` Python, `.toml.j2` TOML. The
place (code, between quotes, in a comment) follows from the text before it, whose branches are read one after
another; so none of them leaves a quote open. A string that a template itself states in code, as in
`{{ ", bias=True" if bias }}`, is the template's text; every other one is data, and quoted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial

from jinja2 import Environment, PackageLoader, StrictUndefined, Undefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

from . import bash, python, toml
from .compiled_templates import CompiledTemplates
from .language import Language, Written

LANGUAGES = (bash.LANGUAGE, python.LANGUAGE, toml.LANGUAGE)


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("parc.templates", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_only_written,
        extensions=[Writers],
        bytecode_cache=CompiledTemplates(),
    )
    made.filters |= {"name": python.name, "number": python.number}
    for language in LANGUAGES:
        made.filters[f"{language.name}_text"] = language.code
        for place in language.writers:
            made.filters[f"{language.name}_{place}"] = partial(_write, language, place)
    return made


def _write(language: Language, place: str, value: object) -> Written:
    if isinstance(
        value, Undefined
    ):  # empty behind an `if` without `else`; a name that is missing raises
        return language.code(str(value))
    return language.write(place, value)


def _only_written(value: object) -> Written:
    """Called by Jinja on each value that it outputs. Raises `TypeError` for one that no writer made."""
    if isinstance(value, Written):
        return value
    raise TypeError(f"no writer made {value!r}")


class Writers(Extension):
    """Adds to each `{{ ... }}` the filter that is the writer of its place."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        return _with_writers(language_of(stream.name or ""), stream)


def language_of(template: str) -> Language:
    """The language of a template by its name. Raises `ValueError` for one without a writer."""
    for language in LANGUAGES:
        if template.endswith(language.suffixes):
            return language
    raise ValueError(f"`{template}` is of no language that has a writer")


def _with_writers(language: Language, tokens: Iterable[Token]) -> Iterator[Token]:
    open: tuple[str, ...] = ("code",)
    inserting = False
    for token in tokens:
        if token.type == "data":
            open = language.behind(open, token.value)
        if token.type == "variable_begin":
            inserting = True
            yield from (token, Token(token.lineno, "lparen", "("))
        elif token.type == "variable_end":
            inserting = False
            yield from (*_filtered(token.lineno, f"{language.name}_{open[-1]}"), token)
        elif token.type == "string" and inserting and language.takes_code(open[-1]):
            twice = 2 * [Token(token.lineno, "lparen", "(")]
            own = _filtered(token.lineno, f"{language.name}_text")
            yield from (*twice, token, *own, Token(token.lineno, "rparen", ")"))
        else:
            yield token


def _filtered(line: int, name: str) -> tuple[Token, ...]:
    return Token(line, "rparen", ")"), Token(line, "pipe", "|"), Token(line, "name", name)
