"""A comment that looks like a directive and is none: `# SBATCH`, `#sbatch`, `#Sbatch`.

Why:
SLURM wants `#SBATCH` at the start of the line, in capitals. Anything else is a comment, and the option is
not set. `##SBATCH` is how people switch a directive off; it is not reported, nor is a call of sbatch in a
comment that says how the script is used. Several lines of `# SBATCH` between right ones are hints: most are
switched off so.

Bad:
#!/bin/bash
#SBATCH --job-name=train
# SBATCH --nodes=2
srun hostname

Good:
#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=2
srun hostname
"""

import re
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR632"
TITLE = "a comment that looks like a directive"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8; ACEsuite/mace#435"
FILE = "job.sbatch"


_ALMOST = re.compile(r"\s*#\s*(?i:sbatch)\s+--?[a-zA-Z]")


#: Usage text: small letters, and a file behind the options, a placeholder among them, dots or another line.
_CALL = re.compile(
    r"\s*#\s*sbatch\s.*?(?:\s[\w./${}-]+\.\w+\b|\s\$0\b|<\w|\s[\w-]+=[A-Z]\b|(?:\\|\.{3}|…)\s*$)"
)


def _call(line: str) -> bool:
    return _CALL.match(line) is not None


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        lines = list(enumerate(batch.lines[: batch.first_command - 1], 1))
        almost = [(number, line) for number, line in lines if _almost(line)]
        severity: Severity | None = "info" if _switched_off(batch, almost) else None
        for number, _ in almost:
            message = "SLURM takes this for a comment"
            help_text = "write #SBATCH at the line's start"
            yield Complaint(message, batch.place(number), help=help_text, severity=severity)


def _almost(line: str) -> bool:
    return bool(_ALMOST.match(line)) and not line.startswith("#SBATCH") and not _call(line)


def _switched_off(batch: Batch, almost: list[tuple[int, str]]) -> bool:
    """Whether several directives are written alike, in capitals, and right ones stand among them."""
    alike = len(almost) > 1 and all(line.startswith("# SBATCH") for _, line in almost)
    return alike and any(line.startswith("#SBATCH") for line in batch.lines)
