"""Output of commands as JSON -> its JSON schemas, with versions.

A change of a shape raises the version of its schema, since programs that read an older one may read the
new one wrongly; docs/schemas/versions.csv keeps a digest of the shape of each version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from .shapes import (
    DIAGNOSTIC,
    ESTIMATES,
    EXPLAINED,
    IMPORTED,
    LINTED,
    PLANNED,
    STAGED,
    shape,
)

#: The address of a schema begins with it; the name and the version follow.
ADDRESS = "urn:parc:schema"
#: What prints JSON -> the version of its shape, the shape, and what it is.
SCHEMAS: Mapping[str, tuple[int, Any, str]] = {
    "plan": (3, shape("Planned", PLANNED), "`parc plan --json`: plans, the best first."),
    "plan-stages": (3, shape("Staged", STAGED), "`parc plan --json` of a job in several stages."),
    "plan-file": (
        3,
        shape("PlanFile", {**PLANNED, "files": dict[str, str]}),
        "`plan.json` of an output folder: plans, and the sha256 of each file.",
    ),
    "estimate": (3, shape("Estimates", ESTIMATES), "`parc estimate --json`."),
    "explain": (3, shape("Explained", EXPLAINED), "`parc explain --json`."),
    "check": (1, list[DIAGNOSTIC], "`parc check --json`: complaints about jobs."),
    "lint": (2, shape("Linted", LINTED), "`parc lint --format json`."),
    "import": (1, shape("Imported", IMPORTED), "`parc import --json`."),
}


def address(name: str) -> str:
    """The identifier of a schema, which ends with its version."""
    return f"{ADDRESS}:{name}:{SCHEMAS[name][0]}"


def schema(name: str) -> dict[str, Any]:
    """The JSON schema (2020-12) of what is printed under a name. Bytes are bytes, times seconds."""
    version, printed, about = SCHEMAS[name]
    made = TypeAdapter(printed).json_schema()
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": address(name),
        "title": name,
        "description": f"{about} Version {version}.",
    }
    kept = {key: _untitled(value) for key, value in made.items() if key not in head}
    return {**head, **kept}


def shape_of(name: str) -> str:
    """The part of a schema that programs depend on, as a text: without its names and its words."""
    return json.dumps(_bare(TypeAdapter(SCHEMAS[name][1]).json_schema()), sort_keys=True)


def _untitled(value: Any) -> Any:
    """Without the titles that repeat the names of keys and definitions."""
    return _without(value, ("title",))


def _bare(value: Any) -> Any:
    return _without(value, ("title", "description"))


def _without(value: Any, left_out: Sequence[str]) -> Any:
    """A schema without some of its keywords, whose values are texts; keys of objects have such names too."""
    if isinstance(value, list):
        return [_without(each, left_out) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without(inner, left_out)
        for key, inner in value.items()
        if not (key in left_out and isinstance(inner, str))
    }
