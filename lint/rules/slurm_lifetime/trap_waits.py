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

from collections.abc import Iterator, Sequence

from ....reading.bash.commands.launching import LAUNCHERS, PYTHONS, TRAINERS
from ....reading.bash.trace import TracedCommand, program
from ....reading.bash.values import Word
from ...facts.batch import batches
from ...facts.commands import asks, place_of, ran_by, steps
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related
from .signal_without_trap import to_shell, trapped

CODE = "PAR651"
TITLE = "a trap that cannot run while srun is in the foreground"
SEVERITY = "error"
SOURCE = "measured with SLURM 22.05.8: signal at 3 s, trap at 8 s"
FILE = "job.sbatch"

#: What starts the job without srun.
_STARTS = LAUNCHERS | PYTHONS | TRAINERS.keys() | {"mpirun", "mpiexec"}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given, ran = batch.get("signal"), ran_by(launch, batch)
        name = to_shell(given.value or "") if given else None
        if given is None or name is None or not trapped(ran, name) or _waits(ran):
            continue
        started = _foreground(launch, ran)
        if started is not None:
            command, first = started
            word = program(first)
            related = (Related(f"the trap of {name} waits for it", given.place),)
            if any(program(words[0]) == "exec" for words in command.wrappers):
                message = f"exec leaves no shell with the trap of {name}"
            else:
                message = f"{word} runs in the foreground, and the trap waits until it ends"
            place = place_of(first, command)
            yield Complaint(message, place, related, f"{word} ... & and wait")


def _waits(ran: Sequence[TracedCommand]) -> bool:
    """Whether something starts in the background and is waited for, such as a function with the step."""
    waits = any(command.programs[-1] == "wait" for command in ran)
    return waits and any(command.background for command in ran)


def _foreground(
    launch: LaunchedJob, ran: Sequence[TracedCommand]
) -> tuple[TracedCommand, Word] | None:
    """The last step, else the job's own command, with the first word of what starts it; None where one runs
    in the background."""
    started = [(command, step[0]) for command, step in steps(ran) if not asks(command)]
    if not started:
        own = (each for each in ran if each.words[0].origin[1:4] == launch.config.command)
        words = ((each, words[0]) for each in own for words in (*each.wrappers, each.words))
        started = [(each, word) for each, word in words if program(word) in _STARTS][:1]
    in_background = any(command.background for command, _ in started)
    return started[-1] if started and not in_background else None
