"""A directive that sbatch does not know, whose value it cannot read as a number, or that has none.

Why:
sbatch refuses the script: "unrecognized option", "is not a valid node count", or "requires an argument". An
empty `--output=` or `--error=` it takes, and the job ends as it starts, without a log. An empty value that
sbatch's command line may replace is a hint, and so is a script with several: a form that is to be filled in.

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
from ....reading.bash.values import plain
from ....reading.sbatch_names import LONG_NAMES
from ....reading.sbatch_options import SBATCH, BatchOption
from ...facts.batch import Directive, batches, directive
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

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

#: Options that sbatch refuses with an empty value. Others take it for none, as `--account=` and `--gpus=`.
_REFUSED_WORDS = """cpus-per-gpu cpus-per-task mail-type mem mem-per-cpu nodes ntasks ntasks-per-node
    open-mode signal time"""
_REFUSED = tuple(_REFUSED_WORDS.split())
#: Files of the job, which slurmstepd opens.
_OPENED = ("output", "error")
#: Options whose empty value an option of sbatch's command line, or a variable, may replace.
_REPLACED = (*_OPENED, "gres", "nodelist", "partition")

#: What resembles an option is judged apart: of the others most are a site's own.
_SLIP = "slip"

#: Options of plugins that start containers, of which there are more with each release.
_OF_CONTAINERS = re.compile(r"(?:no-)?container-")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = {each.name: each for each in batch.options}.values()
        empty = {each.name: said for each in given if (said := _empty(each)) is not None}
        yield from _form(list(empty.values())) if len(empty) > 1 else empty.values()
        for option in given:
            if option.name not in empty:
                yield from _check(directive(option))


def _form(empty: list[Complaint]) -> Iterator[Complaint]:
    """One complaint about a script whose directives are to be filled in."""
    first, *others = empty
    related = tuple(Related(each.message, each.at) for each in others)
    yield Complaint(f"{first.message}, as {len(others)} others", first.at, related)


def _empty(option: BatchOption) -> Complaint | None:
    """A complaint about an option whose value is not there, by sbatch or by the job."""
    name = option.name
    if option.value is None:
        lacks = name in LONG_NAMES and name not in SBATCH.alone
    else:
        lacks = plain(option.value) == "" and name in (*_REFUSED, *_REPLACED)
    if not lacks:
        return None
    replaced = name in _REPLACED and option.value is not None
    ends = name in _OPENED and option.value is not None
    what = "the job ends as it starts, without a log" if ends else "sbatch refuses the script"
    severity: Severity | None = None if replaced else "error"
    return Complaint(f"--{name} has no value: {what}", directive(option).place, severity=severity)


def _check(given: Directive) -> Iterator[Complaint]:
    name, value = given.name, given.value
    if name not in LONG_NAMES:
        near = None if _OF_CONTAINERS.match(name) else did_you_mean(name, LONG_NAMES)
        # Sites add options by plugins: only what resembles one of SLURM's own is certainly a slip.
        severity: Severity | None = None if near else "info"
        help_text = near.replace("`", "`--", 1) if near else None
        yield Complaint(
            f"sbatch has no option --{name}", given.place, (), help_text, severity, case=_SLIP
        )
        return
    pattern = NUMBERS.get(name)
    odd = pattern is not None and value and not re.fullmatch(pattern, value)
    if odd and not re.search(r"[$<>%]|\{\w+\}", value or ""):
        yield Complaint(f"--{name} cannot be `{value}`", given.place)
