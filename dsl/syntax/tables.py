"""The grammar -> its parser, from tables that are made ahead.

Those of another grammar, or of another release of Lark, are not read: they are made anew.
"""

import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

#: The tables in the folder of this module; tests/dsl/test_parser_tables.py writes them with --update.
FILE = "tables.json"


def grammar() -> str:
    return resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")


def parser(postlex: Any) -> Lark:
    """The parser; making its tables anew takes a tenth of a second, reading them a tenth of that."""
    stored = resources.files(__package__).joinpath(FILE)
    try:
        tables = json.loads(stored.read_text("utf-8"), object_hook=_numbered)
        if (tables["release"], tables["grammar"]) == (lark.__version__, grammar()):
            read: Any = Lark._load_from_dict
            loaded: Lark = read(tables["data"], tables["memo"], postlex=postlex)
            return loaded
    except (OSError, ValueError, KeyError):
        pass
    return _built(postlex)


def _built(postlex: Any) -> Lark:
    return Lark(grammar(), lexer="contextual", parser="lalr", postlex=postlex, keep_all_tokens=True)


def text(postlex: Any) -> str:
    """The content of the file of tables."""
    data, memo = _built(postlex).memo_serialize([TerminalDef, Rule])
    del data["options"]["postlex"]
    tables = {"release": lark.__version__, "grammar": grammar(), "data": data, "memo": memo}
    return json.dumps(tables, default=_listed, separators=(",", ":")) + "\n"


def _listed(value: Iterable[Any]) -> list[Any]:
    """A set, which JSON lacks, in an order that each run repeats."""
    return sorted(value)


def _numbered(table: dict[str, Any]) -> dict[Any, Any]:
    """A table with the numbers as keys that JSON writes as texts."""
    return {int(key) if key.isdigit() else key: value for key, value in table.items()}
