"""--signal=B: sends the signal to the batch shell, which dies of it unless it has a trap.

Why:
The job ends before it has saved anything: "died by signal: 10".

Bad:
#!/bin/bash
#SBATCH --time=24:00:00
#SBATCH --signal=B:USR1@300
srun python train.py

Good:
#!/bin/bash
#SBATCH --time=24:00:00
#SBATCH --signal=B:USR1@300
trap 'scancel --signal=TERM "$SLURM_JOB_ID"' USR1
srun python train.py &
wait
"""

import re
from collections.abc import Iterator, Sequence

from ....reading.bash.trace import TracedCommand, signal_name
from ...facts.batch import batches
from ...facts.commands import ran_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR650"
TITLE = "a signal to the batch shell without a trap"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("signal")
        name = to_shell(given.value or "") if given else None
        ran = ran_by(launch, batch)
        if given is None or name is None or not ran or trapped(ran, name):
            continue
        message = f"the batch shell has no trap for {name}, which ends it"
        yield Complaint(
            message, given.place, help=f"trap ... {name}, and srun in the background with wait"
        )


def to_shell(value: str) -> str | None:
    """USR1 in `B:SIGUSR1@300`; None for a signal that goes to the steps."""
    match = re.fullmatch(r"(?:R?B|BR?):([A-Z0-9]+)(?:@\d+)?", value)
    return signal_name(match[1]) if match else None


def trapped(ran: Sequence[TracedCommand], name: str) -> bool:
    """Whether one of the commands sets a trap for a signal."""
    traps = (each.words[2:] for each in ran if each.programs[-1] == "trap")
    return any(signal_name(str(word.text)) == name for words in traps for word in words)
