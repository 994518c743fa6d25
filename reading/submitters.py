"""Scripts beside a job -> whether one of them makes a folder and submits the job after that."""

import os
import re
from collections.abc import Callable, Iterator

#: Suffixes of scripts that submit others.
_SUFFIXES = (".sh", ".bash")
#: Most scripts of a folder that are looked at.
_MOST = 200

Text = Callable[[str], str | None]


def submitted_after_mkdir(place: str, folder: str, job: str, text_of: Text) -> bool:
    """Whether a script in `place` makes `folder` and then submits `job`, a path; `text_of` reads a file."""
    return any(
        _makes_and_submits(text_of(path) or "", folder, os.path.basename(job))
        for path in _scripts(place)
        if os.path.basename(path) != os.path.basename(job)
    )


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
    plain = re.escape(folder.removeprefix("./"))
    makes = re.compile(rf"\bmkdir\b.*[\s\"'/](?:\./)?{plain}/?(?=[\s;&\"']|$)")
    submits = re.compile(rf"\bsbatch\b.*(?:{name}|\$)")
    made = next((number for number, line in enumerate(lines) if makes.search(line)), None)
    if made is None or not any(re.search(name, line) for line in lines):
        return False
    return any(submits.search(line) for line in lines[made:])
