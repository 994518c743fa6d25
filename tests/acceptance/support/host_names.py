"""Names of emulated nodes in /etc/hosts: each line says which process wrote it, and goes with that process.

The file is written in place: in a container it is a mount, which cannot be replaced.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HOSTS = Path("/etc/hosts")
SIGN = re.compile(r"# parc acceptance of process (\d+) in (.*)$")


@contextmanager
def named(nodes: int, folder: Path) -> Iterator[None]:
    """Launchers connect to the first host of a job by its name."""
    sign = f"# parc acceptance of process {os.getpid()} in {folder}"
    lines = [f"127.0.0.1 n{number} {sign}" for number in range(1, nodes + 1)]
    _edit(lambda known: [*known, *lines])
    try:
        yield
    finally:
        _edit(lambda known: [line for line in known if not line.endswith(sign)])


def forget(process: int) -> None:
    """Lines of that process go, and those of all that are no more."""
    if os.geteuid() == 0:
        _edit(lambda known: [line for line in known if not _of_one_gone(line, process)])


def _of_one_gone(line: str, process: int) -> bool:
    found = SIGN.search(line)
    if found is None:
        return False
    owner = int(found[1])
    return owner == process or not Path(f"/proc/{owner}").exists()


def _edit(change: Callable[[list[str]], list[str]]) -> None:
    """Two sessions at once take turns."""
    with HOSTS.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = file.read().splitlines()
        after = change(before)
        if after != before:
            file.seek(0)
            file.write("\n".join(after) + "\n")
            file.truncate()
