"""Packages by the name that a job gives them, each imported when it is first looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Generic, TypeVar

from pydantic import BaseModel

from .backend import Backend

Entry = TypeVar("Entry")


class Registry(MutableMapping[str, Entry], Generic[Entry]):
    """The `attribute` of each package, by the package's name in `package`, in the order given. A job that
    names one target waits for no other."""

    def __init__(self, package: str, attribute: str, names: tuple[str, ...]) -> None:
        self._load: Callable[[str], Entry] = lambda name: getattr(
            import_module(f"{package}.{name}"), attribute
        )
        self._entries: dict[str, Entry | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Entry:
        found = self._entries[name]
        if found is None:
            found = self._entries[name] = self._load(name)
        return found

    def __setitem__(self, name: str, entry: Entry) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class TargetOptions(Mapping[str, type[BaseModel]]):
    """The class of the settings of each `target NAME`, from its backend."""

    def __init__(self, backends: Mapping[str, Backend]) -> None:
        self._backends = backends

    def __getitem__(self, name: str) -> type[BaseModel]:
        return self._backends[name].target.options

    def __contains__(self, name: object) -> bool:
        return name in self._backends

    def __iter__(self) -> Iterator[str]:
        return iter(self._backends)

    def __len__(self) -> int:
        return len(self._backends)
