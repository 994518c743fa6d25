"""Settings of a launched job -> values of the language's blocks; what the files do not say is left out."""

import ast
import math
from collections.abc import Mapping
from typing import Any

from ..reading.facts import LaunchConfig, Setting, number_of, text_of

#: Setting of the language -> scope and name of a setting of the files.
Places = Mapping[str, tuple[str, str]]


def options(**names: str) -> Places:
    """Where arguments of a command are: setting of the language -> option."""
    return {name: ("argument", option) for name, option in names.items()}


def counts(config: LaunchConfig, places: Places) -> dict[str, Any]:
    return known(**{name: number_of(config.setting(*place)) for name, place in places.items()})


def rates(config: LaunchConfig, places: Places) -> dict[str, Any]:
    return known(**{name: rate_of(config.setting(*place)) for name, place in places.items()})


def rate_of(setting: Setting | None) -> float | None:
    """A setting's one known value as a finite number."""
    text = text_of(setting)
    try:
        value = float(ast.literal_eval(text)) if text else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if value is None or math.isfinite(value) else None


def known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
