"""Scripts beside a job -> whether one of them makes a folder before: it submits the job, or sets up the
checkout."""

import os
import re
from collections.abc import Callable, Iterator

#: Suffixes of scripts that submit others.
_SUFFIXES = (".sh", ".bash")
#: Most scripts of a folder that are looked at.
_MOST = 200
#: Longer lines are not searched.
_LONGEST = 1000

#: Names of scripts that are run once, before any job.
_SETS_UP = re.compile(r"(?:^|[_-])(?:setup|set_up|install|prepare|bootstrap)(?:[_.-]|$)")

Text = Callable[[str], str | None]


def made_before(place: str, folder: str, job: str, text_of: Text) -> bool:
    """Whether a script in `place` makes `folder` and then submits `job`, a path, or makes it where it sets up
    the checkout; `text_of` reads a file."""
    for path in _scripts(place):
        name, text = os.path.basename(path), text_of(path) or ""
        if name == os.path.basename(job):
            continue
        if _SETS_UP.search(name) and _sets_up(text, folder):
            return True
        if _makes_and_submits(text, folder, os.path.basename(job)):
            return True
    return False


def _sets_up(text: str, folder: str) -> bool:
    """Whether a script makes the folder and needs it for no log of its own."""
    logs = f"{folder}/"
    own = any(line.startswith("#SBATCH") and logs in line for line in text.split("\n"))
    makes = _makes(folder)
    return not own and any(makes.search(line) for line in _commands(text))


def _makes(folder: str) -> re.Pattern[str]:
    plain = re.escape(folder.removeprefix("./"))
    return re.compile(rf"^(?>.*?\bmkdir\b).*[\s\"'/](?:\./)?{plain}/?(?=[\s;&\"']|$)")


def _commands(text: str) -> list[str]:
    """The lines of a script that are no comments, each with those that a backslash adds to it, less those
    that nobody wrote by hand."""
    joined = text.replace("\\\n", " ")
    lines = (line for line in joined.split("\n") if len(line) <= _LONGEST)
    return [line for line in lines if not line.lstrip().startswith("#")]


def _scripts(place: str) -> Iterator[str]:
    try:
        names = sorted(name for name in os.listdir(place) if name.endswith(_SUFFIXES))
    except OSError:
        return
    yield from (os.path.join(place, name) for name in names[:_MOST])


def _makes_and_submits(text: str, folder: str, job: str) -> bool:
    """`mkdir` of the folder, below it `sbatch` of the job, by its name or by a variable that has it."""
    if "sbatch" not in text or job not in text:
        return False
    name = rf"(?<![\w.-]){re.escape(job)}(?![\w.-])"
    lines, makes = _commands(text), _makes(folder)
    submits = re.compile(rf"^(?>.*?\bsbatch\b).*(?:{name}|\$)")
    made = next((number for number, line in enumerate(lines) if makes.search(line)), None)
    if made is None or not any(re.search(name, line) for line in lines):
        return False
    return any(submits.search(line) for line in lines[made:])
