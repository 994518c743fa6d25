"""The words of the language -> a TextMate grammar and a Vim syntax file.

`pytest tests/editors --update` writes both.
"""

from __future__ import annotations

import json
from pathlib import Path

from parc.dsl.highlighting.words import WORDS
from parc.dsl.units import UNITS

FOLDER = Path(__file__).parent

#: TextMate's scope of each group of words, and Vim's.
SCOPES = {
    "blocks": ("keyword.declaration.parc", "Structure"),
    "statements": ("keyword.control.parc", "Keyword"),
    "clauses": ("keyword.other.clause.parc", "Statement"),
    "operators": ("keyword.operator.word.parc", "Operator"),
    "constants": ("constant.language.parc", "Boolean"),
    "functions": ("support.function.parc", "Function"),
    "quantities": ("support.variable.quantity.parc", "Identifier"),
    "decisions": ("variable.parameter.decision.parc", "Identifier"),
}
#: A number with its suffix or unit, as `dsl/syntax/grammar.lark` reads it; `%s` is the list of units.
_NUMBER = r"\b[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9]+)?(\s*%%|\s*(%s)(/(%s))?(?![\w$]))*"
#: The same for Vim.
_VIM_NUMBER = (
    r"\<\d[0-9_]*\(\.\d[0-9_]*\)\?\([eE][+-]\?\d\+\)\?"
    r"\(\s*%%\|\(\s*\(%s\)\(\/\(%s\)\)\?\([A-Za-z0-9_$]\)\@!\)\+\)\?"
)


def _units(escape: str, separator: str = "|") -> str:
    """Every unit, the longest first, joined for a regular expression."""
    found = sorted(UNITS, key=lambda unit: (-len(unit), unit))
    return separator.join(unit.replace("$", escape) for unit in found)


def textmate() -> str:
    """The grammar that VS Code, Sublime Text, Zed's extensions and GitHub read, as JSON."""
    units = _units(r"\$")
    patterns: list[dict[str, object]] = [
        {"name": "comment.line.number-sign.parc", "match": "#.*$"},
        {
            "name": "string.quoted.double.parc",
            "begin": '"',
            "end": '"|$',
            "patterns": [{"name": "constant.character.escape.parc", "match": r'\\["\\nrt]'}],
        },
        {"name": "entity.name.type.library.parc", "match": r"\bstd\.\w+"},
        {"name": "constant.numeric.parc", "match": _NUMBER % (units, units)},
        {"name": "variable.other.member.parc", "match": r"[A-Za-z_][\w-]*(?=\s*=(?!=))"},
    ]
    patterns += [
        {"name": SCOPES[group][0], "match": rf"(?<![\w.])({'|'.join(words)})(?![\w.])"}
        for group, words in WORDS.items()
    ]
    operators = r"==|!=|<=|>=|\*\*|//|\.\.|[=<>+*/%-]"
    patterns.append({"name": "keyword.operator.parc", "match": operators})
    grammar = {
        "name": "parc",
        "scopeName": "source.parc",
        "fileTypes": ["par"],
        "patterns": patterns,
    }
    return json.dumps(grammar, indent=2) + "\n"


def vim() -> str:
    """The syntax file of Vim and Neovim: `syntax/parc.vim` of a folder in the runtime path."""
    units = _units(r"\$", r"\|")
    lines = ['" Colours of job files of parc, written from the words of the language.']
    lines += ['if exists("b:current_syntax") | finish | endif', ""]
    for group, words in WORDS.items():
        lines.append(f"syntax keyword parc{group.title()} {' '.join(words)}")
    lines += [
        r"syntax match parcKey /\<[A-Za-z_][A-Za-z0-9_-]*\ze\s*==\@!/",
        r"syntax match parcLibrary /\<std\.\w\+/",
        rf"syntax match parcNumber /{_VIM_NUMBER % (units, units)}/",
        r'syntax region parcText start=/"/ skip=/\\./ end=/"/ oneline',
        "syntax match parcComment /#.*$/",
        "",
    ]
    linked = {f"parc{group.title()}": scope for group, (_, scope) in SCOPES.items()}
    linked |= {"parcKey": "Type", "parcLibrary": "Constant", "parcNumber": "Number"}
    linked |= {"parcText": "String", "parcComment": "Comment"}
    lines += [f"highlight default link {name} {group}" for name, group in linked.items()]
    return "\n".join([*lines, "", 'let b:current_syntax = "parc"', ""])


#: Each generated file, below this folder, and what writes it.
FILES = {"vscode/syntaxes/parc.tmLanguage.json": textmate, "vim/syntax/parc.vim": vim}
