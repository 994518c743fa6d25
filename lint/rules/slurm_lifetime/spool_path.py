"""A batch script looks for files beside itself, by $0 or BASH_SOURCE.

Why:
slurmd copies the script that sbatch submits into its spool folder and runs the copy there: the folder of
`$0` is `/var/spool/slurmd/job123`, where none of the files beside the script lie. SLURM_SUBMIT_DIR is the
folder in which sbatch was called. Nothing is said of a script that tests a variable of SLURM first.

Bad:
#!/bin/bash
#SBATCH --nodes=1
source "$(dirname "$0")/settings.sh"
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
source "$SLURM_SUBMIT_DIR/settings.sh"
srun python train.py
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.bash.commands.launching import LAUNCHERS, PYTHONS, SHELLS
from ....reading.bash.trace import TracedCommand, program
from ...facts.batch import Batch, batches
from ...facts.commands import ran_by
from ...facts.launched_job import LaunchedJob
from ...facts.own_path import Use, uses
from ...finding import Complaint, Place, Related

CODE = "PAR684"
TITLE = "a file beside a batch script that SLURM copies"
SEVERITY = "error"
STOPS = "itself"
SINCE = "2026-12"
SOURCE = "sbatch(1) and slurmd: the job runs from SlurmdSpoolDir/jobNNN/slurm_script"
FILE = "job.sbatch"

#: Programs that need nothing of the folder.
_HARMLESS_WORDS = """echo printf basename dirname sbatch scontrol export cp cat sed grep ls test [ logger
    date mkdir local readonly declare usage"""
_HARMLESS = frozenset(_HARMLESS_WORDS.split())
_READS = (".py", ".sh", ".yaml", ".yml", ".json", ".toml", ".txt")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        if not batch.every:  # a script that writes another one with its directives is run by bash
            continue
        ran = [each for each in ran_by(launch, batch) if each.place[0] == batch.path]
        at = {each.place[1:]: each for each in ran if _submitted(each, batch)}
        used = ((use, at.get((use.line, use.column))) for use in uses(batch.text))
        for use, command in used:
            if command is None or command.programs[-1] in _HARMLESS:
                continue
            yield _complaint(batch, use, command, ran)
            break


def _submitted(command: TracedCommand, batch: Batch) -> bool:
    """Whether sbatch starts the script, and no shell that names it by its own path."""
    by = {program(words[0]) for words in command.outer}
    return command.scripts[0] == batch.path or bool(by & {"sbatch"})


def _complaint(
    batch: Batch, use: Use, command: TracedCommand, ran: list[TracedCommand]
) -> Complaint:
    line, column, length = use.origin
    place = Place(batch.path, line, column, length)
    goes = command.programs[-1] in ("cd", "pushd")
    behind = ran[ran.index(command) + 1 :]
    severity: Severity | None = "info" if goes and not any(map(_relative, behind)) else None
    message = "the folder of the script is SLURM's spool folder: no file of the checkout is in it"
    related = (
        () if line == use.line else (Related("used here", Place(batch.path, use.line, use.column)),)
    )
    help_text = '"$SLURM_SUBMIT_DIR" is the folder in which sbatch was called'
    return Complaint(message, place, related, help_text, severity)


def _relative(command: TracedCommand) -> bool:
    """Whether a command needs a file of the folder in which it runs."""
    starts = command.programs[-1] in {*LAUNCHERS, *PYTHONS, *SHELLS, "source", "."}
    texts = (word.text for word in command.words)
    return starts and any(
        isinstance(text, str) and text.endswith(_READS) and not text.startswith(("/", "-"))
        for text in texts
    )
