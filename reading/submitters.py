"""Scripts beside a job -> whether one of them makes a folder before: it submits the job, or sets up the
checkout."""

import os
import re
from collections.abc import Callable, Iterator

#: Suffixes of scripts that submit others.
_SUFFIXES = (".sh", ".bash")
#: Most scripts of a folder that are looked at.
_MOST = 200

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
        logs = re.search(rf"^#SBATCH.*{re.escape(folder)}/", text, re.MULTILINE)
        sets_up = _SETS_UP.search(name) is not None and logs is None
        if sets_up and _makes(folder).search(text):
            return True
        if _makes_and_submits(text, folder, os.path.basename(job)):
            return True
    return False


def _makes(folder: str) -> re.Pattern[str]:
    plain = re.escape(folder.removeprefix("./"))
    line = rf"^(?!\s*#).*\bmkdir\b.*[\s\"'/](?:\./)?{plain}/?(?=[\s;&\"']|$)"
    return re.compile(line, re.MULTILINE)


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
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    makes = _makes(folder)
    submits = re.compile(rf"\bsbatch\b.*(?:{name}|\$)")
    made = next((number for number, line in enumerate(lines) if makes.search(line)), None)
    if made is None or not any(re.search(name, line) for line in lines):
        return False
    return any(submits.search(line) for line in lines[made:])
