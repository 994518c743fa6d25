"""A directive that sbatch does not know, or whose value it cannot read as a number.

Why:
sbatch refuses the script: "unrecognized option", or "is not a valid node count".

Bad:
#!/bin/bash
#SBATCH --node=2
#SBATCH --ntasks-per-node=one
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun python train.py
"""

import re
from collections.abc import Iterator

from ....dsl.diagnostics import Severity, did_you_mean
from ....reading.sbatch_names import LONG_NAMES
from ...facts.batch import Directive, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR660"
TITLE = "a directive that sbatch does not know or cannot read"
SEVERITY = "warning"
STOPS = "itself"
SOURCE = "sbatch(1); measured with SLURM 22.05.8"
FILE = "job.sbatch"

#: Options whose value is one number, and what may follow it or stand next to it.
NUMBERS = {
    "nodes": r"\d+[kmKM]?(-\d+[kmKM]?)?(:\d+)?|\d+(,\d+)+|\d+-\d+:\d+",
    "ntasks": r"\d+[kmKM]?",
    "ntasks-per-node": r"\d+",
    "cpus-per-task": r"\d+",
    "cpus-per-gpu": r"\d+",
    "gpus-per-node": r"([\w.-]+:)?\d+(,.*)?",
    "gpus-per-task": r"([\w.-]+:)?\d+(,.*)?",
    "gpus": r"([\w.-]+:)?\d+(,.*)?",
    "mem": r"\d+(\.\d+)?[kmgtKMGT]?[bB]?",
    "segment": r"\d+",
    "gres": r"\S.*",
    "open-mode": r"append|truncate|[at]",
    "signal": r"([RB]+:)?(SIG)?[A-Za-z0-9]+(@\d+)?",
}

#: What resembles an option is judged apart: of the others most are a site's own.
_SLIP = "slip"

#: Options of plugins that start containers, of which there are more with each release.
_OF_CONTAINERS = re.compile(r"(?:no-)?container-")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for directive in batch.directives.values():
            yield from _check(directive)


def _check(directive: Directive) -> Iterator[Complaint]:
    name, value = directive.name, directive.value
    if name not in LONG_NAMES:
        near = None if _OF_CONTAINERS.match(name) else did_you_mean(name, LONG_NAMES)
        # Sites add options by plugins: only what resembles one of SLURM's own is certainly a slip.
        severity: Severity | None = None if near else "info"
        help_text = near.replace("`", "`--", 1) if near else None
        yield Complaint(
            f"sbatch has no option --{name}", directive.place, (), help_text, severity, case=_SLIP
        )
        return
    pattern = NUMBERS.get(name)
    odd = pattern is not None and (value is None or not re.fullmatch(pattern, value))
    if odd and not re.search(r"[$<>%]|\{\w+\}", value or ""):
        shown = f"`{value}`" if value else "nothing"
        yield Complaint(f"--{name} cannot be {shown}", directive.place)
