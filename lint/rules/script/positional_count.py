"""A script is given more or fewer arguments than it reads as `$1`, `$2`, ...

Judged only when arguments are named behind `--`, and not for scripts that shift or hand all of them on.

Why:
Every value behind the missing one moves to the wrong variable, or is empty.

Bad:
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers $1 --hidden-size $2 --seq-length $3

Good:
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers $1 --hidden-size $2
"""

import re
from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR804"
TITLE = "a script is given another number of arguments than it reads"
SEVERITY = "warning"
OPTIONS = ("--", "32", "4096")
SOURCE = "seen in a published script and its README"

_POSITIONAL = re.compile(r"\$(?:([1-9])|\{([1-9]\d?)(:?[-=])?)")
#: Scripts that take any number, and lines in which `$1` is another program's.
_ANY = re.compile(
    r"\$[@*#]|\$\{[@#*]|\bshift\b|\bgetopts?\b|^[^\S\n]*(?:function\s+\w+|\w+\s*\(\)\s*\{)", re.M
)
_FOREIGN = re.compile(r"\b(?:awk|sed|perl|cut)\b|'[^']*\$\d[^']*'")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    count = len(launch.arguments)
    if not count or _ANY.search(launch.config.texts.get(launch.path, "")):
        return
    read: dict[int, Place] = {}
    needed = 0
    for path, number, line in launch.lines():
        if path != launch.path or line.lstrip().startswith("#") or _FOREIGN.search(line):
            continue
        for match in _POSITIONAL.finditer(line):
            index = int(match[1] or match[2])
            read.setdefault(index, Place(path, number, match.start() + 1, len(match[0])))
            needed = max(needed, 0 if match[3] else index)
    if not read:
        return
    most = max(read)
    if needed > count:
        message = f"{count} arguments are given, and ${needed} is read"
        yield Complaint(message, read[needed], help=f"{needed} arguments")
    elif count > most:
        message = f"{count} arguments are given, and ${most} is the last that is read"
        yield Complaint(message, read[most], help=f"{most} arguments")
