"""Where a parser stopped at what other languages have and this one does not -> what stands in its place."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..evaluation.spellings import JOINS
from ..unsupported import CONDITIONS
from .stop import BLOCK, Cure, Stop

#: What a value out of the environment becomes.
NO_ENVIRONMENT = (
    "parc reads no environment: give it with `let`, or with `--set BLOCK.SETTING=VALUE`"
)


def _standard(stop: Stop) -> Cure:
    """`import std` and `from std import h100_pod`, as in Python."""
    line = re.compile(
        r"[ \t]*(?:import[ \t]+std\b|from[ \t]+std\b[^\n{]*\bimport\b)[^\n]*\n?"
    ).match(stop.text, stop.line)
    if line is None:
        return None
    help = "names of the standard library need no import"
    return help, stop.fix(line.start(), line.end(), "")


def _alias(stop: Stop) -> Cure:
    """`import "site.par" as site`."""
    alias = stop.around(r"^[ \t]*import[ \t]+\"[^\"\n]*\"([ \t]+as[ \t]+\w+)")
    if alias is None:
        return None
    help = "blocks of an import keep their names, and another is `cluster NEW from NAME { }`"
    return help, stop.fix(alias.start(1), alias.end(1), "")


def _conditional(stop: Stop) -> Cure:
    """`a ? b : c`, `if a then b` and `b if a else c`."""
    written = r"=[ \t]*if\b|=[^=;{}]*[\w)\"][ \t]+if[ \t]+\w"
    until = stop.at + (3 if stop.block == "goal" else 4)
    if stop.found != "?" and not re.search(written, stop.text[stop.line : until]):
        return None
    return f"parc has no {CONDITIONS.what}: {CONDITIONS.instead}", None


def _loop(stop: Stop) -> Cure:
    """`for n in 1..4 { ... }` and `while`."""
    if stop.around(r"(?:^|(?<=[{;]))[ \t]*(?:for|foreach|while)\b[^=]*[{:]") is None:
        return None
    return "there are no loops: the search tries all values; bound one, `require tp <= 4`", None


def _exclusive(stop: Stop) -> Cure:
    """`a xor b`, `a implies b`, `a unless b`."""
    word = stop.around(rf"(?<=[\w)][ \t])({'|'.join(JOINS)})(?=[ \t(])")
    if word is None:
        return None
    return f"conditions are joined by `and`, `or` and `not`: `{JOINS[word[1]]}`", None


def _index(stop: Stop) -> Cure:
    if stop.found != "[" or stop.around(r"(?<=[\w)])\[[^\[\]\n]*\]") is None:
        return None
    return "no item is picked from a list: give each value a name with `let`", None


def _extends(stop: Stop) -> Cure:
    """`model extends llama3_8b {`."""
    words = r"(extends|inherits|uses|like|of|is|as|<|:)"
    head = stop.around(rf"^[ \t]*{BLOCK}[ \t]+(?:\w+[ \t]+)?{words}[ \t]+(?=[\w\"])")
    if head is None:
        return None
    return "write `from`", stop.fix(head.start(1), head.end(1), "from")


def _terraform(stop: Stop) -> Cure:
    """`variable "n" { default = 4 }` and `resource "cluster" "pod" {`."""
    default = (
        r"\{\s*+(?:type\b(?:(?!\bdefault\b)[^{}])*+)?default[ \t]*+=[ \t]*+([^\n{}]*[^\s{}])\s*\}"
    )
    declared = rf"^[ \t]*variable[ \t]+\"(\w+)\"[ \t]*{default}"
    if (found := stop.around(declared)) is not None:
        text = f"let {found[1]} = {found[2]}"
        return f"a constant is `{text}`", stop.fix(found.start(), found.end(), text)
    head = stop.around(rf"^[ \t]*(?:resource|data|module)[ \t]+\"({BLOCK})\"[ \t]+\"(\w+)\"")
    if head is None:
        return None
    text = f"{head[1]} {head[2]}"
    return f"write `{text}`", stop.fix(head.start(), head.end(), text)


def _variable(stop: Stop) -> Cure:
    """`${n}` and `$n`, as in a shell, `${var.n}` as in Terraform."""
    found = re.compile(r"\$(?:\{[ \t]*(?:\w+\.)?(\w+)[ \t]*\}|([A-Za-z_]\w*))").match(
        stop.text, stop.at
    )
    if found is None:
        return None
    name = found[1] or found[2]
    if not re.search(rf"^[ \t]*let[ \t]+{name}\b", stop.text, re.MULTILINE):
        return NO_ENVIRONMENT, None
    return f"a constant is named as it is: `{name}`", stop.fix(found.start(), found.end(), name)


ABSENT_FEATURES: tuple[Callable[[Stop], Cure], ...] = (
    _conditional,
    _loop,
    _exclusive,
    _standard,
    _alias,
    _extends,
    _terraform,
    _index,
    _variable,
)
