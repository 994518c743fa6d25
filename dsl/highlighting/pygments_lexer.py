"""A job file -> the tokens of Pygments, which colours it in Sphinx, MkDocs, LaTeX and Rich.

Pygments finds the lexer by its entry point in pyproject.toml, for `.par` files and under the name `parc`.
"""

from __future__ import annotations

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from ..syntax import tables
from .words import WORDS

#: Pygments' token of each group of words.
TOKENS = {
    "blocks": Keyword.Declaration,
    "statements": Keyword.Namespace,
    "clauses": Keyword,
    "operators": Operator.Word,
    "constants": Keyword.Constant,
    "functions": Name.Function,
    "quantities": Name.Variable,
    "decisions": Name.Variable,
}
#: Regular expressions of the grammar's terminals.
_TERMINALS = {each.name: each.pattern.to_regexp() for each in tables.parser(None).terminals}
_NAME = _TERMINALS["NAME"]
_OPERATORS = "|".join(_TERMINALS[name] for name in ("COMPARE", "POWER", "SCALE", "PLUS", "MINUS"))


class ParcLexer(RegexLexer):
    """Reads numbers, texts and names with the grammar's own terminals; any text has tokens."""

    name = "parc"
    aliases = ("parc",)
    filenames = ("*.par",)
    flags = 0
    tokens = {
        "root": [
            (r"[\s\ufeff]+", Whitespace),
            (r"#[^\n]*", Comment.Single),
            (_TERMINALS["STRING"], String.Double),
            (_TERMINALS["NUMBER"], Number),
            (_NAME + r"(?=[ \t]*=(?!=))", Name.Attribute),
            (r"std\.\w+", Name.Builtin),
            *((words(WORDS[group], suffix=r"(?![\w.])"), kind) for group, kind in TOKENS.items()),
            (_NAME, Name),
            (_OPERATORS + r"|\.\.|=", Operator),
            (r"[{}()\[\],;:]", Punctuation),
        ],
    }
