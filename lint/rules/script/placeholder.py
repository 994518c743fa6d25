"""A placeholder that was left in: <your_account>, PATH TO DATA, { name }, CHANGE_THIS, your_own_value.

Why:
bash reads `<name>` as a redirection, SLURM refuses the account, and the program does not find the path.

Bad:
#!/bin/bash
#SBATCH --account=<your_account>
#SBATCH --nodes=1
srun python train.py

Good:
#!/bin/bash
#SBATCH --account=llm
#SBATCH --nodes=1
srun python train.py
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....dsl.diagnostics import Severity
from ....reading.placeholders import IN_LINE
from ....reading.programs import of_tests
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related

CODE = "PAR803"
TITLE = "a placeholder that was left in"
SEVERITY = "warning"
SOURCE = "NeMo Automodel, Apertus and Megatron FSDP templates"
FILE = "job.sbatch"


@dataclass(frozen=True)
class _Left:
    """A placeholder, where it stands, and whether SLURM reads it."""

    text: str
    place: Place
    directive: bool


#: Names of files that are there to be filled in.
_TEMPLATE = re.compile(r"template|skeleton|boilerplate", re.IGNORECASE)

#: How a comment of a script that is there to be filled in asks for it.
_ASKS = re.compile(
    r"^[ \t]*+#(?!SBATCH).{0,80}\b(?:replace|fill|update|adapt|adjust|change|edit|modify|customi[sz]e)\b"
    r".{0,80}\b(?:your?|yours|own|below|these|placeholders?|cluster)\b",
    re.IGNORECASE | re.MULTILINE,
)
#: How such a text stands in a shell without being one: heredocs, redirections, XML and help texts.
_HARMLESS = re.compile(
    r"<<|\becho\b|\bprintf\b|\busage\b|\bsed\b|\bgrep\b|\bawk\b|\bread\b|>\(|<\(|tok|\|>|html", re.I
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """One complaint for each file: whoever fills in one placeholder fills in them all."""
    found: dict[str, list[_Left]] = {}
    for path, number, line, match in launch.matches(IN_LINE):
        if _is_left(line, match):
            place = Place(path, number, match.start() + 1, len(match[0]))
            found.setdefault(path, []).append(_Left(match[0], place, line.startswith("#SBATCH")))
    for path, left in found.items():
        meant = _is_template(path, launch.config.texts.get(path, ""))
        yield _complaint(sorted(left, key=lambda each: not each.directive), meant)


def _is_template(path: str, text: str) -> bool:
    """Whether a file says that it is to be filled in, or is what a test expects."""
    return bool(_TEMPLATE.search(path.rpartition("/")[2]) or of_tests(path) or _ASKS.search(text))


def _is_left(line: str, match: re.Match[str]) -> bool:
    """Whether a placeholder is in what a shell or SLURM reads."""
    if line.lstrip().startswith("#") and not re.match(r"#SBATCH\s+-", line):
        return False
    comment = re.search(r"(?:^|\s)#(?!SBATCH)", line)
    return not _HARMLESS.search(line) and not (comment and comment.start() < match.start())


def _complaint(left: list[_Left], meant: bool) -> Complaint:
    first, *others = left
    # A path that every user must write is how published examples come; SLURM refuses the job at once.
    severity: Severity | None = None if first.directive and not meant else "info"
    related = tuple(Related(f"{each.text}, too", each.place) for each in others)
    message = f"the placeholder {first.text} was left in"
    return Complaint(message, first.place, related, "write the value", severity)
