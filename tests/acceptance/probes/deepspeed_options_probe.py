"""Keys of ds_config.json that DeepSpeed asks for -> rows of backends/deepspeed/released_options.csv, as JSON.

DeepSpeedConfig reads a dictionary that notes what is looked up in it, again with each key as a section of its
own; a section that a pydantic model checks has the kind `section` and the model's fields.
"""

from __future__ import annotations

import enum
import json
import os
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any

os.environ.update(DS_ACCELERATOR="cpu", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")

import deepspeed
import torch
from deepspeed.runtime.config import DeepSpeedConfig
from deepspeed.runtime.config_utils import DeepSpeedConfigModel
from torch.testing._internal.distributed.fake_pg import FakeStore

#: Rows by name; keys that are looked up to be refused; and the section that was last handed on whole, to the
#: model that checks it.
FOUND: dict[str, dict[str, str]] = {}
REMOVED: set[str] = set()
SPREAD: list[str] = []
DEPTH = 4


class Noting(dict[str, Any]):
    """A section that notes which keys are looked up, with their defaults."""

    def __init__(self, section: dict[str, Any], path: str = "") -> None:
        super().__init__()
        self.path = path
        for key, value in section.items():
            inner = Noting(value, f"{path}{key}.") if isinstance(value, dict) else value
            dict.__setitem__(self, key, inner)

    def note(self, key: str, default: Any = None) -> None:
        row = FOUND.setdefault(self.path + key, blank())
        if default is not None and not row["kind"]:
            row |= {"kind": kind_of_value(default), "default": word(default)}

    def __getitem__(self, key: str) -> Any:
        self.note(key)
        return dict.__getitem__(self, key)

    def __contains__(self, key: object) -> bool:
        self.note(str(key))
        return dict.__contains__(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        self.note(key, default)
        return dict.get(self, key, default)

    def pop(self, key: str, *default: Any) -> Any:
        self.note(key, *default)
        return dict.pop(self, key, *default)

    def __iter__(self) -> Iterator[str]:  # its own, so that `**section` asks for the keys
        return dict.__iter__(self)

    def keys(self) -> Any:
        return Keys(self)

    def __copy__(self) -> Noting:
        return self

    def __deepcopy__(self, memo: Any) -> Noting:
        return self


class Keys:
    """What `key in section.keys()` and `**section` ask; the latter goes through all of them."""

    def __init__(self, section: Noting) -> None:
        self.section = section

    def __contains__(self, key: object) -> bool:
        return key in self.section

    def __iter__(self) -> Iterator[str]:
        SPREAD.append(self.section.path)
        return dict.__iter__(self.section)


def blank() -> dict[str, str]:
    return {"kind": "", "count": "", "choices": "", "default": "", "instead": ""}


def note_models() -> None:
    """A model that is made of a section has that section's keys, or the top level's."""
    made = DeepSpeedConfigModel.__init__

    def noting(self: Any, *arguments: Any, **named: Any) -> None:
        path = SPREAD.pop() if SPREAD else None
        SPREAD.clear()
        if path is not None or (named and set(named) <= set(FOUND)):
            fields(type(self), path or "")
        made(self, *arguments, **named)

    DeepSpeedConfigModel.__init__ = noting


def fields(model: Any, path: str) -> None:
    if path:
        FOUND.setdefault(path[:-1], blank())["kind"] = "section"
    for name, field in model.model_fields.items():
        more = field.json_schema_extra or {}
        row = described(field.annotation) | {"default": word(default_of(field))}
        row["instead"] = str(more.get("new_param", "")) if more.get("deprecated") else ""
        for spelling in filter(None, (name, field.alias)):
            FOUND[path + spelling] = {**blank(), **row}
            if inner := model_in(field.annotation):
                fields(inner, f"{path}{spelling}.")


def default_of(field: Any) -> Any:
    found = field.default_factory() if field.default_factory else field.get_default()
    return None if "Undefined" in type(found).__name__ else found


def model_in(annotation: Any) -> Any:
    kinds = (annotation, *typing.get_args(annotation))
    return next((each for each in kinds if hasattr(each, "model_fields")), None)


def described(annotation: Any) -> dict[str, str]:
    kinds = [each for each in typing.get_args(annotation) if each is not type(None)]
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        # An alternative such as `bool` or a section: the first is what most write.
        return described(kinds[0])
    if typing.get_origin(annotation) is typing.Annotated:
        return described(kinds[0])
    if typing.get_origin(annotation) is typing.Literal:
        return {"kind": "str", "choices": "|".join(map(word, kinds))}
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        values = [each.value for each in annotation]
        return {"kind": kind_of_value(values[0]), "choices": "|".join(map(word, values))}
    return {"kind": kind_of_type(typing.get_origin(annotation) or annotation)}


def kind_of_type(kind: Any) -> str:
    if hasattr(kind, "model_fields") or kind is dict:
        return "section" if hasattr(kind, "model_fields") else "object"
    name = {"pp_int": "int", "Path": "str", "dtype": "str"}.get(kind.__name__, kind.__name__)
    return name if name in ("bool", "int", "float", "str", "list") else ""


def kind_of_value(value: Any) -> str:
    return "object" if isinstance(value, dict) else kind_of_type(type(value))


def word(value: Any) -> str:
    if isinstance(value, enum.Enum):
        value = value.value
    simple = isinstance(value, bool | int | float | str | list)
    return json.dumps(value) if simple and not isinstance(value, str) else str(value) * simple


def read(name: str = "") -> None:
    """With an empty section of that name, which may be of the wrong kind: that ends the reading."""
    section: Any = {}
    for part in reversed(name.split(".")) if name else ():
        section = {part: section}
    SPREAD.clear()
    try:
        DeepSpeedConfig(Noting({"train_batch_size": 1, **section}))
    except Exception as error:
        if "has been removed" in str(error):
            REMOVED.add(name)


def rows() -> list[dict[str, str]]:
    note_models()
    read()
    tried: set[str] = set()
    while names := {name for name in FOUND if name.count(".") < DEPTH} - tried:
        for name in sorted(names):
            read(name)
        tried |= names
    return [{"name": name, **row} for name, row in sorted(FOUND.items()) if name not in REMOVED]


def join() -> None:
    """Some keys are looked up where processes are connected; shared memory between them is not compiled."""
    vars(sys.modules["deepspeed.comm.torch"])["build_shm_op"] = lambda: None
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
    deepspeed.init_distributed(dist_backend="fake", dist_init_required=False)


if __name__ == "__main__":
    join()
    with open(sys.argv[1], "w") as out:
        json.dump(rows(), out)
