"""The release that a script is written for: lines that stop where another is installed, and their reader."""

import re
from dataclasses import dataclass

from ..reading.facts import LaunchConfig
from .languages import bash
from .languages.bash import Bash

#: Version of an installed Python package, by the Python that torchrun runs.
_INSTALLED = 'from importlib.metadata import version; print(version("{}"))'


@dataclass(frozen=True)
class ReleaseCheck:
    """`wanted` is the beginning of a version, `command` prints the one that is there, if any."""

    framework: str
    variable: str
    wanted: str
    command: Bash


def of_package(framework: str, package: str, wanted: str) -> ReleaseCheck:
    program = bash.quoted(_INSTALLED.format(package))
    command = bash.command(bash.code("python3 -c"), program)
    return ReleaseCheck(framework, variable_of(package), wanted, command)


def variable_of(name: str) -> str:
    return f"{name.upper()}_RELEASE"


def written_release(config: LaunchConfig, name: str) -> str | None:
    """The release that an emitted script says it is written for; None for other scripts."""
    pattern = re.compile(rf"^{variable_of(name)}=([\d.]+)$", re.M)
    found = (pattern.search(text) for text in config.texts.values())
    return next((match[1] for match in found if match), None)
