"""What an installation of parc takes, and what each extra adds: no more than docs/ci.md says."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Extras of those who change parc.
OURS = {"test", "docs", "release"}
#: A row of the table: an extra, or nothing for parc alone, and megabytes.
ROW = re.compile(r"^\| `\./parc(?:\[(\w+)\])?` \| \+?(\d+) \|", re.MULTILINE)
STATED = {name: int(size) for name, size in ROW.findall((ROOT / "docs" / "ci.md").read_text())}
#: Releases of packages, and their wheels for other Pythons, differ so much.
MARGIN = 1.2


def needed(requirements: Iterable[str]) -> set[str]:
    """Every package that requirements bring along. Skips where one is not installed here."""
    waiting = [(Requirement(text), "") for text in requirements]
    names: set[tuple[str, str]] = set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        for asked in ("", *requirement.extras):
            key = canonicalize_name(requirement.name), asked
            if key in names:
                continue
            names.add(key)
            try:
                below = metadata.distribution(requirement.name).requires or ()
            except metadata.PackageNotFoundError:
                pytest.skip(f"{requirement.name} is not installed")
            waiting += [(Requirement(text), asked) for text in below]
    return {name for name, _ in names}


def megabytes(names: Iterable[str]) -> float:
    """The files of packages, without what Python compiles of them."""
    files = (file for name in names for file in metadata.distribution(name).files or ())
    paths = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def test_the_table_has_every_extra_of_users() -> None:
    assert set(STATED) == {"", *PROJECT["optional-dependencies"]} - OURS


def test_parc_alone_takes_what_is_stated() -> None:
    packages = needed(PROJECT["dependencies"])
    assert not packages & {"plotly", "starlette", "pygls", "ray", "mcp", "torch"}
    assert STATED[""] / MARGIN < megabytes(packages) < STATED[""] * MARGIN


@pytest.mark.parametrize("extra", sorted(set(STATED) - {""}))
def test_an_extra_adds_what_is_stated(extra: str) -> None:
    alone = needed(PROJECT["dependencies"])
    added = needed(PROJECT["optional-dependencies"][extra]) - alone
    assert added and megabytes(added) < STATED[extra] * MARGIN + 1
