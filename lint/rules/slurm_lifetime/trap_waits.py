"""A trap runs only between commands: while srun or another launcher runs in the foreground, the shell cannot
answer the signal, and `exec` leaves no shell that could.

Why:
The trap ran when srun had ended, which is too late to save, and to requeue. srun in the background and `wait`
let it run at once.

Bad:
#!/bin/bash
#SBATCH --time=24:00:00
#SBATCH --signal=B:USR1@300
trap 'scancel --signal=TERM "$SLURM_JOB_ID"' USR1
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
from collections.abc import Iterator

from ...facts.batch import Batch, batches
from ...facts.commands import ran_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related
from .signal_without_trap import signal_name, trapped

CODE = "PAR651"
TITLE = "a trap that cannot run while srun is in the foreground"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8: signal at 3 s, trap at 8 s"
FILE = "job.sbatch"


#: What a step begins with, in the foreground or not.
_STEP = r"^\s*(?:(?:if|while|until|!|time|exec)\s+)*(?:\w+=\S*\s+)*srun\b"
#: Launchers without srun, and Python.
_LAUNCHERS = (
    r"\s*(?:(?:if|!|time|exec)\s+)*(?:\w+=\S*\s+)*"
    r"(torchrun|deepspeed|accelerate|mpirun|mpiexec|llamafactory-cli|axolotl|python3?)\b"
)
#: What starts a command in the background, alone or with its number kept.
_BACKGROUND = r"[^&>]&\s*(?:$|\w+=\$!)"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("signal")
        name = signal_name(given.value or "") if given else None
        if given is None or name is None or _waits(batch):
            continue
        if not trapped(ran_by(launch, batch), name):
            continue
        found = _foreground(launch, batch)
        if found is not None:
            number, line, word = found
            related = (Related(f"the trap of {name} waits for it", given.place),)
            place = batch.place(number, rf"\b{word}\b")
            if re.match(r"\s*exec\b", line):
                message = f"exec leaves no shell with the trap of {name}"
            else:
                message = f"{word} runs in the foreground, and the trap waits until it ends"
            yield Complaint(message, place, related, f"{word} ... & and wait")


def _waits(batch: Batch) -> bool:
    """Whether something starts in the background and is waited for, such as a function with the step."""
    return bool(batch.commands(_BACKGROUND) and batch.commands(r"\bwait\b"))


def _foreground(launch: LaunchedJob, batch: Batch) -> tuple[int, str, str] | None:
    """Number and text of the statement that runs the step, and its first word; else those of the job's own
    command, where the batch script has it."""
    steps = batch.commands(_STEP)
    if steps:
        return None if any(re.search(r"&\s*$", line) for _, line in steps) else (*steps[-1], "srun")
    path, last, _ = launch.config.command or ("", 0, 0)
    before = [each for each in batch.body if each[0] <= last] if path == batch.path else []
    words = re.match(_LAUNCHERS, before[-1][1]) if before else None
    return (*before[-1], words[1]) if words and not re.search(r"&\s*$", before[-1][1]) else None
