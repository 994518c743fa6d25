"""Values -> the text of a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .language import Written, writable


class Json(Written):
    """Text of JSON."""

    __slots__ = ()


def document(values: Mapping[str, object]) -> Json:
    """A whole file, indented. Raises `ValueError` for NaN and infinities, which JSON lacks."""
    return Json(writable(json.dumps(values, indent=2, allow_nan=False)) + "\n")


def members(values: Mapping[str, object]) -> Json:
    """A whole file, one member a line, so that lines of two files tell what differs."""
    lines = (
        f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
        for key, value in values.items()
    )
    return Json("{\n" + writable(",\n".join(lines)) + "\n}\n")
