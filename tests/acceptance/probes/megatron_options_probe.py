"""Megatron-LM's own argument parser -> rows of backends/megatron/released_options.csv, as JSON."""

from __future__ import annotations

import argparse
import enum
import json
import sys
from collections.abc import Iterator
from typing import Any

import megatron_stand_ins as stand_ins

stand_ins.before_import()

from megatron.training import arguments  # noqa: E402

#: Actions of an option without a value.
SWITCHES = (
    argparse._StoreTrueAction,
    argparse._StoreFalseAction,
    argparse._StoreConstAction,
    argparse.BooleanOptionalAction,
)


def rows() -> Iterator[dict[str, Any]]:
    parser = arguments.add_megatron_arguments(argparse.ArgumentParser(add_help=False))
    for action in parser._actions:
        for name in action.option_strings:
            if name.startswith("--"):
                yield {"name": name, **described(action)}


def described(action: argparse.Action) -> dict[str, Any]:
    switch = isinstance(action, SWITCHES)
    kind = getattr(action.type or str, "__name__", "str")
    return {
        "kind": "switch" if switch else kind,
        "count": "" if switch or action.nargs is None else str(action.nargs),
        "choices": "|".join(map(word, action.choices or ())),
        "default": word(action.default),
    }


def word(value: Any) -> str:
    """As one would write it behind the option."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, list | tuple):
        return " ".join(map(word, value))
    return "" if value is None else str(value)


if __name__ == "__main__":
    stand_ins.IMPORTING.close()
    with open(sys.argv[1], "w") as out:
        json.dump(list(rows()), out)
