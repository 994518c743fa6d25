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

from collections.abc import Iterator, Sequence

from ....dsl.diagnostics import Severity
from ....reading.bash.trace import TracedCommand
from ...facts.batch import batches
from ...facts.commands import may_run, place_of, requeues
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from .signal_without_trap import trapped

CODE = "PAR649"
TITLE = "a requeue without a limit"
SEVERITY = "warning"
SOURCE = "mila-iqia/mila-docs#415"
FILE = "job.sbatch"

#: Signals that SLURM sends before the end, or that `--signal` asks for.
SIGNALS = frozenset({"USR1", "USR2", "TERM", "INT", "HUP", "CONT"})


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        may = may_run(launch, batch)
        again = [each for each in may if requeues(each)]
        if again and "SLURM_RESTART_COUNT" not in batch.text:
            message = "the job requeues itself without a limit"
            place = place_of(again[0].words[0], again[0])
            help_text = "compare $SLURM_RESTART_COUNT with a limit"
            severity: Severity | None = "info" if _on_signal(may, again) else None
            yield Complaint(message, place, help=help_text, severity=severity)


def _on_signal(may: Sequence[TracedCommand], again: Sequence[TracedCommand]) -> bool:
    """Whether a signal is trapped, and each requeue stands in a trap or in a function that one may start."""
    heard = any(trapped(may, name) for name in SIGNALS)
    return heard and all(each.called or not SIGNALS.isdisjoint(each.signals) for each in again)
