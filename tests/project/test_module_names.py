"""A module is found by its name: none stands in three places, but for what every framework or room has."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path, PurePosixPath

from tests.project.test_packaging import ROOMS
from tests.support.paths import ROOT

#: Each room lists the codes of its own diagnostics.
DECLARED = {"codes"}
#: Modules of one name in the packages of `backends/` are one place, written and read alike.
PACKAGE, BOTH_WAYS = "NAME", ("emit", "read", "constraints")


def place(path: PurePosixPath) -> str:
    """The folder of a module, the same for all packages of frameworks."""
    parts = path.parts[:-1]
    if parts[0] != "backends" or len(parts) == 1:
        return "/".join(parts)
    return "/".join(("backends", PACKAGE, *(part for part in parts[2:] if part not in BOTH_WAYS)))


def places() -> dict[str, set[str]]:
    """Module name -> the folders that have one."""
    found = defaultdict[str, set[str]](set)
    for room in ROOMS.values():
        for path in (ROOT / room).rglob("*.py"):
            name = PurePosixPath(Path(path).relative_to(ROOT).as_posix())
            if not name.stem.startswith("__"):
                found[name.stem].add(place(name))
    return found


def test_no_name_stands_three_times() -> None:
    found = places()
    assert len(found) > 500 and found["option_rows"] == {f"backends/{PACKAGE}"}
    crowded = {name: sorted(folders) for name, folders in found.items() if len(folders) > 2}
    assert crowded.keys() == DECLARED, crowded
