"""How launch files tell which release of a framework they are for: what `Reader.dated` declares."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Dated:
    """`title`: what people call the framework. `scope`: of the settings that its releases have tables of.

    `package`: the name under which it is installed. `pinned` finds a release that a script installs, loads or
    checks out, in its groups. `refused`: option -> the release from which on it is parsed only to be refused.
    `forked`: whether forks have tables too. `oldest`: the first release whose rows of `constraints` hold that
    name none: those before are other programs'.
    """

    title: str
    scope: str
    package: str
    pinned: re.Pattern[str]
    refused: Mapping[str, str] = field(default_factory=dict)
    forked: bool = False
    oldest: str = ""


def installed(package: str) -> str:
    """Pattern of a package's release as pip or the command `module` is told it; the release is the group."""
    release = r"(\d+\.\d+(?:\.\d+)?)"
    load = r"^[ \t]*(?:module[ \t]+(?:load|add|swap)|ml)\b[^\n]*?[ \t]"
    return rf"\b{package}=={release}|(?m:{load}{package}/{release})"
