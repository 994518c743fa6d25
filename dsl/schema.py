"""The pydantic class of a block -> the type of each of its settings: kind, dimension, words, limits, doc."""

import functools
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from .hardware import Cluster, Gpu
from .job import Launch, Train
from .launchers import Hosts, Kubernetes, Ray, SkyPilot
from .model import Model
from .settings import Data, Doc, Open, Unit
from .units import NUMBER, Dimension, dimension

Kind = Literal[
    "whole", "number", "truth", "word", "text", "choices", "texts", "table", "data", "gpu"
]

#: The class of each block; those of targets come with the backends.
CLASSES: dict[str, type[BaseModel]] = {
    "model": Model,
    "gpu": Gpu,
    "cluster": Cluster,
    "train": Train,
    "stage": Train,
    "launch": Launch,
}
#: The class of each `launch NAME`, in the order of messages; what several have is of one type.
LAUNCHES: dict[str, type[Launch | Kubernetes | Hosts | SkyPilot | Ray]] = {
    "slurm": Launch,
    "kubernetes": Kubernetes,
    "hosts": Hosts,
    "skypilot": SkyPilot,
    "ray": Ray,
}
#: Fields that the head of a block gives.
_HEAD_FIELDS = {"name", "kind"}


@dataclass(frozen=True)
class SettingType:
    """The kind of value that one setting takes. `limits` are pydantic's names of bounds (ge, gt, le, lt) with
    their values; `fractions` tells whether the numbers of a table may be other than whole, `open` whether a
    set of words leaves the choice to the search, of which some words need something."""

    key: str
    kind: Kind
    dimension: Dimension
    words: tuple[str, ...]
    optional: bool
    required: bool
    default: object
    limits: tuple[tuple[str, float], ...]
    doc: str
    fractions: bool = False
    open: bool = False
    needs: tuple[tuple[str, str], ...] = ()


@functools.cache
def setting_types(of: type[BaseModel]) -> dict[str, SettingType]:
    """The settings of a block by key, in the order in which its class declares them."""
    hints = typing.get_type_hints(of, include_extras=True)
    return {
        key: _setting_type(key, hints[key], info)
        for key, info in of.model_fields.items()
        if key not in _HEAD_FIELDS
    }


def _setting_type(key: str, hint: object, info: FieldInfo) -> SettingType:
    core, metadata, optional = _unwrap(hint)
    units = [item.dimension for item in metadata if isinstance(item, Unit)]
    docs = [item.text for item in metadata if isinstance(item, Doc)]
    kind, words = _kind(core)
    required = info.default is PydanticUndefined and info.default_factory is None
    return SettingType(
        key=key,
        kind=kind,
        dimension=dimension(units[0]) if units else NUMBER,
        words=words,
        optional=optional,
        required=required,
        default=(
            None if required else info.get_default(call_default_factory=True, validated_data={})
        ),
        limits=_limits(metadata),
        doc=docs[0] if docs else (info.description or ""),
        fractions=kind == "table" and float in get_args(get_args(core)[1]),
        open=any(isinstance(item, Open) for item in metadata),
        needs=next((item.needs for item in metadata if isinstance(item, Open)), ()),
    )


def _unwrap(hint: object) -> tuple[object, list[object], bool]:
    """The bare type, the metadata of every layer around it (outermost first), and whether None is allowed."""
    metadata: list[object] = []
    optional = False
    while True:
        origin = get_origin(hint)
        if origin is Annotated:
            hint, *extra = get_args(hint)
            metadata += extra
        elif origin in (Union, types.UnionType) and type(None) in get_args(hint):
            optional = True
            others = [arg for arg in get_args(hint) if arg is not type(None)]
            hint = others[0] if len(others) == 1 else Union[tuple(others)]  # noqa: UP007
        else:
            return hint, metadata, optional


def _kind(core: object) -> tuple[Kind, tuple[str, ...]]:
    plain: dict[object, Kind] = {
        int: "whole",
        float: "number",
        bool: "truth",
        str: "text",
        Gpu: "gpu",
        Data: "data",
    }
    if core in plain:
        return plain[core], ()
    origin, args = get_origin(core), get_args(core)
    if origin is Literal:
        return "word", tuple(str(arg) for arg in args)
    if origin is tuple:
        return ("choices" if args[0] is int else "texts"), ()
    if origin is dict:
        return "table", ()
    raise TypeError(f"the language has no setting of type {core}")


def _limits(metadata: list[object]) -> tuple[tuple[str, float], ...]:
    """Bounds by pydantic's names (ge, gt, le, lt), from plain metadata and from `Field`."""
    found: list[object] = []
    for item in metadata:
        found += item.metadata if isinstance(item, FieldInfo) else [item]
    return tuple(
        (name, getattr(item, name))
        for name in ("ge", "gt", "le", "lt")
        for item in found
        if getattr(item, name, None) is not None
    )
