"""A value that the layout depends on is only decided when the script runs.

Speaks only under `--require-complete`. Without it an unknown value is no fault: the rules that need it are
skipped, and the summary names them.

Why:
Rules that are skipped find nothing. A team that wants every launch file judged in full can ask for it.

Bad:
torchrun --nnodes "$NNODES" --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8

Good:
torchrun --nnodes "${NNODES:-2}" --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8
"""

from collections.abc import Iterator

from ....reading.facts import Unknown
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR901"
TITLE = "a value cannot be determined from the text"
SEVERITY = "error"
SOURCE = "parc: docs/lint.md, Coverage"
OPTIONS = ("--require-complete",)
ASKED = True


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for fact in launch.facts.values():
        if isinstance(fact.value, Unknown):
            help_text = "give it with --env NAME=VALUE, or the script's arguments behind --"
            yield Complaint(f"{fact.name} is unknown: {fact.value.reason}", fact, help=help_text)
