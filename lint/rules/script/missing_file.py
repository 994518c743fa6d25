"""A file that a script starts, sources or hands to the program is not there.

Why:
The job stops at that line, or trains without what the file says. parc looks in the folders that it was
given, from the script's own folder upwards: a file that only the cluster has is reported, too. It is a
warning where a file of nearly that name lies in the folder that the path names.

Bad:
source settings.sh
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096

Good:
--- settings.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
--- train.sh
source settings.sh
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ....dsl.diagnostics import Severity, did_you_mean
from ....reading.facts import Unread
from ....reading.placeholders import IN_LINE
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR806"
TITLE = "a file that a script names and that is not there"
SEVERITY = "info"
SOURCE = "bash(1), SHELL BUILTIN COMMANDS: source"

#: Files of a user or a machine: nobody has them beside the script.
_ELSEWHERE = re.compile(r"[~$]|^/|\.\.\.|bashrc|profile|activate|conda")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for unread in launch.config.unread:
        name = re.search(r"`([^`]*)`", unread.reason)
        if not unread.missing or (name and _ELSEWHERE.search(name[1])):
            continue
        place = _word(launch, unread)
        if place is not None:
            near = _near(launch, place)
            severity: Severity | None = "warning" if near else None
            yield Complaint(unread.reason, place, (), near, severity)


def _near(launch: LaunchedJob, place: Place) -> str | None:
    """A question after the file beside the missing one that is meant; None where no name is like it."""
    line = launch.config.texts[place.path].split("\n")[place.line - 1]
    folder, _, name = line[place.column - 1 :][: place.length].rpartition("/")
    if "." not in name:
        return None
    for above in PurePosixPath(place.path).parents:
        inside = posixpath.normpath(str(above / folder))
        names = [each for each in launch.files.names(inside) if _ending(each) == _ending(name)]
        if names:
            return did_you_mean(name, names)
    return None


def _ending(name: str) -> str:
    return name.rpartition(".")[2]


def _word(launch: LaunchedJob, unread: Unread) -> Place | None:
    """The word that names the file; None where a placeholder or a path of the machine stands there."""
    text = launch.config.texts.get(unread.path, "")
    lines = text.split("\n")
    line = lines[unread.line - 1] if unread.line <= len(lines) else ""
    match = re.match(r"[^\s\"'`;)]*", line[unread.column - 1 :])
    word = match[0] if match else ""
    if IN_LINE.search(line) or _ELSEWHERE.search(word):
        return None
    return Place(unread.path, unread.line, unread.column, max(len(word), 1))
