"""The text of a module with dataclasses or pydantic models -> their fields, a row each."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .argparse_options import Row, constant

Classes = Mapping[str, ast.ClassDef]
_PLAIN = ("bool", "int", "float", "str", "list", "dict")
#: Integers of DeepSpeed that print with commas, and lists as typing writes them.
_SPELT = {"pp_int": "int", "List": "list", "Dict": "dict"}
_DEPRECATED = re.compile(r"[Uu]se `?-{0,2}(\w+)`? instead|[Uu]se `-{0,2}(\w+)`|renamed to `(\w+)`")


@dataclass(frozen=True)
class Field:
    """`value` is what stands behind the `=`, None where nothing does."""

    name: str
    annotation: ast.expr
    value: ast.expr | None


def classes_of(*texts: str) -> dict[str, ast.ClassDef]:
    """Every class of these modules by name."""
    nodes = (node for text in texts for node in ast.walk(ast.parse(text)))
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def fields_of(each: ast.ClassDef, classes: Classes) -> Iterator[Field]:
    """Fields of a class, after those of its known bases."""
    for base in each.bases:
        if isinstance(base, ast.Name) and base.id in classes:
            yield from fields_of(classes[base.id], classes)
    for node in (node for node in each.body if isinstance(node, ast.AnnAssign)):
        if isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            yield Field(node.target.id, node.annotation, node.value)


def rows_of(each: ast.ClassDef, classes: Classes, section: str = "") -> Iterator[Row]:
    """`section.key` of each field, by its name and its alias, and the fields of classes among them."""
    for field in fields_of(each, classes):
        inner = _inner(field.annotation, classes)
        for key in filter(None, (field.name, _named(field, "alias"))):
            name = f"{section}.{key}".strip(".")
            if inner is None:
                yield {"name": name, **_described(field, classes)}
            else:
                yield {"name": name, "kind": "section"}
                yield from rows_of(inner, classes, name)


def _inner(annotation: ast.expr, classes: Classes) -> ast.ClassDef | None:
    """The class of fields that an annotation names; one of words (an Enum) has none."""
    found = (classes.get(name) for name in _names(annotation))
    return next((each for each in found if each and any(fields_of(each, classes))), None)


def _names(annotation: ast.expr) -> list[str]:
    """The plain names in it, in their order, also of an annotation in quotes."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _names(ast.parse(annotation.value, mode="eval").body)
    return [node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)]


def _described(field: Field, classes: Classes) -> Row:
    """An alternative of kinds, as `bool | str`, is of the first kind that says what is taken."""
    names = [_SPELT.get(name, name) for name in _names(field.annotation)]
    several = any(name in ("list", "dict") for name in names)
    words = () if several else _literal(field.annotation) or _words(names, classes)
    kinds = {name for name in names if name in _PLAIN}
    single = next(iter(kinds)) if len(kinds) == 1 and len(set(names)) < 3 else ""
    return {
        "kind": (
            _kind_of(words) if words else ("list" if "list" in names else "") if several else single
        ),
        "choices": "|".join(words),
        "default": _default(field),
        "instead": _instead(field),
    }


def _kind_of(words: tuple[str, ...]) -> str:
    return "int" if all(word.isdecimal() for word in words) else "str"


def _words(names: list[str], classes: Classes) -> tuple[str, ...]:
    """Values of the Enum that an annotation names, where that is all that it names."""
    enum = next((classes[name] for name in names if name in classes), None)
    if enum is None or any(name in _PLAIN for name in names):
        return ()
    values = [constant(node.value) for node in enum.body if isinstance(node, ast.Assign)]
    return tuple(dict.fromkeys(map(str, values)))


def _literal(annotation: ast.expr) -> tuple[str, ...]:
    """The words of `Literal[...]`, where the annotation is one or an optional one."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal":
            words = constant(node.slice)
            return tuple(map(str, words if isinstance(words, tuple) else (words,)))
    return ()


def _default(field: Field) -> str:
    value = constant(field.value)
    if isinstance(field.value, ast.Call):
        first = field.value.args[0] if field.value.args else None
        value = constant(_argument(field, "default") or first)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _argument(field: Field, name: str) -> ast.expr | None:
    """The value for a name in a field's own call, such as `field(default=1)`."""
    if not isinstance(field.value, ast.Call):
        return None
    return next((each.value for each in field.value.keywords if each.arg == name), None)


def _constants(node: ast.expr | None) -> dict[str, str]:
    """The texts of a dictionary by their keys; what is computed in it is left out."""
    pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
    found = ((constant(key), constant(value)) for key, value in pairs)
    return {key: value for key, value in found if isinstance(key, str) and isinstance(value, str)}


def _named(field: Field, name: str) -> str:
    value = constant(_argument(field, name))
    return value if isinstance(value, str) else ""


def _instead(field: Field) -> str:
    """The field that replaces a deprecated one: pydantic's `new_param`, or as a help text says it."""
    if found := _named(field, "new_param"):
        return found
    if "new_param" in (extra := _constants(_argument(field, "json_schema_extra"))):
        return extra["new_param"]
    metadata = constant(_argument(field, "metadata"))
    text = str(metadata.get("help", "")) if isinstance(metadata, dict) else ""
    match = _DEPRECATED.search(text) if "eprecated" in text else None
    return next((group for group in match.groups() if group), "") if match else ""
