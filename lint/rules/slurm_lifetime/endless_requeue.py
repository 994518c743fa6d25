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

import re
from collections.abc import Iterator

from tree_sitter import Node

from ....dsl.diagnostics import Severity
from ....reading.bash.source import file_source
from ....reading.bash.syntax_tree import parse
from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR649"
TITLE = "a requeue without a limit"
SEVERITY = "warning"
SOURCE = "mila-iqia/mila-docs#415"
FILE = "job.sbatch"

_REQUEUE = r"\bscontrol\s+requeue\b"
#: Signals that SLURM sends before the end, or that `--signal` asks for.
SIGNALS = "USR1|USR2|TERM|INT|HUP|CONT"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        again = batch.commands(_REQUEUE)
        if again and "SLURM_RESTART_COUNT" not in batch.text:
            message = "the job requeues itself without a limit"
            place = batch.place(again[0][0], _REQUEUE)
            help_text = "compare $SLURM_RESTART_COUNT with a limit"
            severity: Severity | None = "info" if _on_signal(batch) else None
            yield Complaint(message, place, help=help_text, severity=severity)


def _on_signal(batch: Batch) -> bool:
    """Whether a signal is trapped, and each requeue stands in a trap or in a function that one may start."""
    if not batch.commands(rf"^\s*trap\b.*\b(?:SIG)?(?:{SIGNALS})\b"):
        return False
    tree = parse(file_source(batch.path, batch.text))
    for found in re.finditer(_REQUEUE, batch.text):
        node = tree.descendant_for_byte_range(*found.span())
        while node is not None and not _handles(node):
            node = node.parent
        if node is None:
            return False
    return True


def _handles(node: Node) -> bool:
    """Whether what stands in a node runs when a signal or a call comes; a comment never does."""
    if node.type == "command":
        name = node.child_by_field_name("name")
        return name is not None and name.text == b"trap"
    return node.type in ("function_definition", "comment")
