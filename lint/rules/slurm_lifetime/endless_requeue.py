"""A script that requeues itself without counting.

Why:
A job that fails at once is started again for ever. It is a hint where a signal makes the job requeue itself,
as it does before its time ends: a job that fails gets none.

Bad:
#!/bin/bash
#SBATCH --open-mode=append
srun python train.py || scontrol requeue "$SLURM_JOB_ID"

Good:
#!/bin/bash
#SBATCH --open-mode=append
if ! srun python train.py && ((${SLURM_RESTART_COUNT:-0} < 3)); then
    scontrol requeue "$SLURM_JOB_ID"
fi
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR649"
TITLE = "a requeue without a limit"
SEVERITY = "warning"
SOURCE = "mila-iqia/mila-docs#415"
FILE = "job.sbatch"

#: Signals that SLURM sends before the end, or that `--signal` asks for.
SIGNALS = "USR1|USR2|TERM|INT|HUP|CONT"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        again = batch.commands(r"\bscontrol\s+requeue\b")
        if again and "SLURM_RESTART_COUNT" not in batch.text:
            message = "the job requeues itself without a limit"
            place = batch.place(again[0][0], r"\bscontrol\s+requeue")
            help_text = "compare $SLURM_RESTART_COUNT with a limit"
            severity: Severity | None = "info" if _on_signal(batch, again) else None
            yield Complaint(message, place, help=help_text, severity=severity)


def _on_signal(batch: Batch, again: list[tuple[int, str]]) -> bool:
    """Whether each requeue stands in a trap, or in the functions of a script that traps a signal."""
    trapping = bool(batch.commands(rf"^\s*trap\b.*\b(?:SIG)?(?:{SIGNALS})\b"))
    return all(
        line.lstrip().startswith("trap ") or (trapping and line[:1].isspace()) for _, line in again
    )
