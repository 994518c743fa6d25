"""How launch files tell which release of a framework they are for: what `Reader.dated` declares."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Dated:
    """`title`: what people call the framework. `scope`: of the settings that its releases have tables of.

    `pinned` finds a release that a script installs or checks out, in its groups. `refused`: option -> the
    release from which on it is parsed only to be refused. `forked`: whether forks have tables too.
    """

    title: str
    scope: str
    pinned: re.Pattern[str]
    refused: Mapping[str, str] = field(default_factory=dict)
    forked: bool = False


def installed(package: str) -> str:
    """Pattern of pip's requirement of a package's release; the release is the group."""
    return rf"\b{package}==(\d+\.\d+(?:\.\d+)?)"
