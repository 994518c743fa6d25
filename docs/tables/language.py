"""The tables of docs/language.md: blocks, units, goal names and codes, from the code that they describe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from docs.tables import markdown
from parc.compiler.variables import DECISIONS, DERIVATIONS
from parc.dsl import codes
from parc.dsl.codes import CODES
from parc.dsl.evaluation.evaluate import plain
from parc.dsl.expression import MEANINGS, QUANTITIES, VALUES, VARIABLES
from parc.dsl.schema import CLASSES, LAUNCHES, SettingType, setting_types
from parc.dsl.units import dimension, in_words
from parc.dsl.unsupported import ALL, CONDITIONS

#: What a value looks like, by the kind of a setting; numbers name their dimension instead.
_KINDS = {
    "truth": "`true` or `false`",
    "text": "text",
    "choices": "number, range or set",
    "texts": "list of texts",
    "table": "`{ name = value; ... }`",
    "gpu": "name of a gpu",
}
_BOUNDS = {"ge": "\u2265", "gt": ">", "le": "\u2264", "lt": "<"}
#: How a default in base units is written, by dimension: the unit and its size.
_SHOWN = {"B": ("GiB", 2**30), "B/s": ("GB/s", 1e9), "J/s": ("W", 1.0), "$/s": ("$/h", 1 / 3600)}


def tables(targets: Mapping[str, type[BaseModel]]) -> dict[str, str]:
    """Every generated table by its name, as Markdown; `targets` maps a target's name to its options."""
    blocks = {name: _block(of) for name, of in CLASSES.items() if name != "stage"}  # train's
    blocks |= {f"launch-{name}": _block(of) for name, of in LAUNCHES.items() if name != "slurm"}
    blocks |= {f"target-{name}": _block(of) for name, of in targets.items()}
    return blocks | {
        "goal-variables": _variables(),
        "goal-quantities": _quantities(),
        "codes": _codes(),
        "unsupported": _unsupported(),
    }


def _block(of: type[BaseModel]) -> str:
    rows = [
        (f"`{field.key}`", _value(field), _default(field), field.doc + _open(field))
        for field in setting_types(of).values()
    ]
    return markdown(("setting", "value", "default", "meaning"), rows)


def _open(field: SettingType) -> str:
    return "; may be left [open](#settings-left-to-the-search)" if field.open else ""


def _value(field: SettingType) -> str:
    if field.kind == "word":
        return ", ".join(f"`{_word(word)}`" for word in field.words)
    if field.kind in _KINDS:
        return _KINDS[field.kind]
    measured = "whole number" if field.kind == "whole" else "number"
    if not field.dimension.bare:
        measured = in_words(field.dimension)
    bounds = [f"{_BOUNDS[name]} {plain(bound)}" for name, bound in field.limits]
    return ", ".join([measured, *(bounds if field.dimension.without_counts().bare else [])])


def _default(field: SettingType) -> str:
    if field.required:
        return "**required**"
    if field.default is None or field.default in ((), {}):
        return ""
    return f"`{_written(field, field.default)}`"


def _written(field: SettingType, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"' if field.kind == "text" else _word(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    if str(field.dimension) == "s":
        return _duration(value)
    unit, size = _SHOWN.get(str(field.dimension), ("", 1))
    number = value / size if unit else value
    shown = plain(int(number) if float(number).is_integer() else number).replace(",", "")
    return f"{shown} {unit}".rstrip()


def _word(word: str) -> str:
    """A word as a job writes it: in quotes when it would read as something else, such as `0.2.2`."""
    return word if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", word) else f'"{word}"'


def _duration(seconds: float) -> str:
    unit, size = next(
        (unit, size)
        for unit, size in (
            ("h", 3600),
            ("min", 60),
            ("s", 1),
            ("ms", 1e-3),
            ("us", 1e-6),
            ("ns", 0),
        )
        if seconds >= size
    )
    return f"{plain(round(seconds / size, 6))} {unit}"


def _variables() -> str:
    variables = {each.name: each.doc for each in (*DECISIONS, *DERIVATIONS)}
    rows = []
    for name in VARIABLES:
        words = ", ".join(f"`{word}`" for word in VALUES.get(name, ()))
        rows.append((f"`{name}`", words or "whole number", variables[name]))
    return markdown(("decision", "value", "meaning"), rows)


def _quantities() -> str:
    rows = [
        (f"`{name}`", in_words(dimension(spelled)), MEANINGS[name])
        for name, spelled in QUANTITIES.items()
    ]
    return markdown(("quantity", "value", "meaning"), rows)


def _unsupported() -> str:
    rows = [
        (each.what, each.code if each != CONDITIONS else codes.SYNTAX, each.instead) for each in ALL
    ]
    return markdown(("parc does not plan", "code", "instead"), rows)


def _codes() -> str:
    return markdown(
        ("code", "name", "what is wrong"), [(code, *named) for code, named in CODES.items()]
    )
