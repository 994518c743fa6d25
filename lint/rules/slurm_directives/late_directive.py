"""A directive below the first command. SLURM stops looking for directives at the first line that is neither
blank nor a comment.

Why:
It is ignored without a word: a job that asks for two nodes runs on one. `--fix` moves it up. Below the last
command it may be a note of how the script was run once: a hint, without a fix.

Bad:
#!/bin/bash
#SBATCH --job-name=train
set -e
#SBATCH --nodes=2
srun hostname

Good:
#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=2
set -e
srun hostname
"""

import re
from collections.abc import Iterator

from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Edit, Related

CODE = "PAR631"
TITLE = "a directive below the first command"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8: a 2-node request ran on 1; NVIDIA-NeMo/Megatron-Bridge#3068"
FILE = "job.sbatch"

_DIRECTIVE = re.compile(r"#SBATCH\s+-")
_COMMENT = re.compile(r"\s*(?:#|$)")
#: A line that starts nothing: comments, options of the shell, variables, modules.
_SETUP = re.compile(r"\s*(?:#|$|(?:set|export|module|ulimit|umask|source)\b|\w+=\S*\s*$)")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        if not batch.directives and not _all_late(batch):
            continue
        last = (at for at, line in enumerate(batch.lines, 1) if not _COMMENT.match(line))
        ends = max(last, default=0)
        for number in range(batch.first_command, len(batch.lines) + 1):
            line = batch.lines[number - 1]
            if _DIRECTIVE.match(line) and not _in_heredoc(batch, number):
                first = batch.place(batch.first_command)
                message = f"SLURM ignores this directive: line {batch.first_command} is a command"
                related = (Related("the first command", first),)
                note = bool(batch.directives) and number > ends
                yield Complaint(
                    message,
                    batch.place(number),
                    related,
                    None if note else "move it up",
                    "info" if note else None,
                    _moved(batch, number) if batch.directives and not note else (),
                )


def _all_late(batch: Batch) -> bool:
    """Whether the whole header stands in one piece below commands that only set a script up."""
    late = [at for at, line in enumerate(batch.lines) if _DIRECTIVE.match(line)]
    if len(late) < 2 or not batch.text.startswith("#!"):
        return False
    together = all(_COMMENT.match(line) for line in batch.lines[late[0] : late[-1]])
    return together and all(_SETUP.match(line) for line in batch.lines[: late[0]])


def _in_heredoc(batch: Batch, number: int) -> bool:
    """Whether a script that this one writes has the line."""
    opened = None
    for line in batch.lines[: number - 1]:
        if opened is None:
            match = re.search(r"<<-?\s*[\"']?(\w+)", line)
            opened = match[1] if match else None
        elif line.strip() == opened:
            opened = None
    return opened is not None


def _moved(batch: Batch, number: int) -> tuple[Edit, ...]:
    """Edits that move the line to just after the last directive that counts."""
    last = max(directive.place.line for directive in batch.directives.values())
    starts = [0, *(match.end() for match in re.finditer("\n", batch.text)), len(batch.text)]
    line = batch.text[starts[number - 1] : starts[number]]
    if not line.endswith("\n"):
        return ()
    return (
        Edit(batch.path, starts[last], starts[last], line),
        Edit(batch.path, starts[number - 1], starts[number], ""),
    )
