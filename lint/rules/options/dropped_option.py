"""An option that the launched program does not know, and leaves out without a word.

Why:
`parse_known_args()` takes the options that are declared and hands the rest back. Where the program drops that
rest, a misspelt or removed option changes nothing, and the job trains with the default.

Bad:
--- train.sh
torchrun --nproc-per-node 8 train.py --learning_rate 1e-4 --warm_up_steps 100
--- train.py
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float)
parser.add_argument("--warmup_steps", type=int, default=0)
args, _ = parser.parse_known_args()

Good:
--- train.sh
torchrun --nproc-per-node 8 train.py --learning_rate 1e-4 --warmup_steps 100
"""

from collections.abc import Iterator
from pathlib import PurePath

from ....dsl.diagnostics import did_you_mean
from ....reading.python.known_arguments import known_options
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR480"
TITLE = "an option that the program ignores"
SEVERITY = "warning"
SOURCE = "Python, argparse: parse_known_args, and allow_abbrev"
SINCE = "2026-12"
FILE = "train.sh"

#: What a launcher hands on, whether the program wants it or not.
_OF_LAUNCHERS = frozenset({"--local_rank", "--local-rank"})


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    # A file of that name in another folder may be another program.
    file = launch.config.program_file
    text = launch.beside(file) if file.endswith(".py") else None
    given = [each for each in launch.all("argument") if each.name.startswith("--")]
    if not given or text is None or "parse_known_args" not in text:
        return
    known = known_options(text, lambda name: _module(launch, name))
    lost = [each for each in given if known is not None and not _taken(each.name, known)]
    if known is not None and lost:
        first, *others = lost
        related = tuple(Related(f"{each.name} is ignored, too", each) for each in others)
        message = f"{launch.config.program} does not know {first.name} and ignores it silently"
        yield Complaint(message, first, related, did_you_mean(first.name, known) or "remove it")


def _taken(name: str, known: frozenset[str]) -> bool:
    """Whether an option is declared; argparse takes the beginning of one for the whole."""
    return name in _OF_LAUNCHERS or any(each.startswith(name) for each in known)


def _module(launch: LaunchedJob, name: str) -> str | None:
    """The text of a module of the repository: in the folder of the program, or in that of the script."""
    path = name.replace(".", "/")
    folder = PurePath(launch.config.program_file).parent
    for place in dict.fromkeys((folder, PurePath())):
        for file in (f"{path}.py", f"{path}/__init__.py"):
            text = launch.beside(str(place / file))
            if text is not None:
                return text
    return None
