"""One table of a torchtitan job: settings in reading order, and comments by key."""

from collections.abc import Mapping
from dataclasses import dataclass

Setting = bool | int | float | str | list[str] | list[list[str]]


@dataclass(frozen=True)
class Section:
    name: str
    settings: Mapping[str, Setting]
    comments: Mapping[str, str]
