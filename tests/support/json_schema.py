"""A value against a JSON Schema: the keywords that CRDs have, `$ref` into `$defs` among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TYPES: dict[str, type] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
}


def faults(value: object, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong, each with its path; `root` holds the `$defs`."""
    yield from _faults(value, schema, root, "")


def _faults(
    value: object, schema: Mapping[str, Any], root: Mapping[str, Any], path: str
) -> Iterator[str]:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    is_one = any(
        isinstance(value, TYPES[kind]) and (kind != "integer" or not isinstance(value, bool))
        for kind in kinds
    )
    if kinds and not is_one:
        yield f"{path}: {value!r} is not {' or '.join(kinds)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is not one of {schema['enum']}"
    if isinstance(value, dict):
        yield from _of_object(value, schema, root, path)
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _faults(each, schema.get("items", {}), root, f"{path}[{number}]")


def _of_object(
    value: dict[str, object], schema: Mapping[str, Any], root: Mapping[str, Any], path: str
) -> Iterator[str]:
    yield from (f"{path} lacks {name}" for name in schema.get("required", ()) if name not in value)
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, each in value.items():
        if name not in known and others is False:
            yield f"{path} has no field {name}"
        else:
            of = known.get(name, others if isinstance(others, dict) else {})
            yield from _faults(each, of, root, f"{path}.{name}")
