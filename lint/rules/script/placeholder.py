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

from ....dsl.diagnostics import Severity
from ....reading.placeholders import IN_LINE
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR803"
TITLE = "a placeholder that was left in"
SEVERITY = "warning"
SOURCE = "NeMo Automodel, Apertus and Megatron FSDP templates"
FILE = "job.sbatch"


#: How such a text stands in a shell without being one: heredocs, redirections, XML and help texts.
_HARMLESS = re.compile(
    r"<<|\becho\b|\bprintf\b|\busage\b|\bsed\b|\bgrep\b|\bawk\b|\bread\b|>\(|<\(|tok|\|>|html", re.I
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for path, number, line in launch.lines():
        text = line.strip()
        if text.startswith("#") and not re.match(r"#SBATCH\s+-", text):
            continue
        match = IN_LINE.search(line)
        comment = re.search(r"(?:^|\s)#(?!SBATCH)", line)
        if match is None or _HARMLESS.search(line) or (comment and comment.start() < match.start()):
            continue
        place = Place(path, number, match.start() + 1, len(match[0]))
        # A path that every user must write is how published examples come; SLURM refuses the job at once.
        severity: Severity | None = None if text.startswith("#SBATCH") else "info"
        message = f"the placeholder {match[0]} was left in"
        yield Complaint(message, place, help="write the value", severity=severity)
