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
from ...facts.batch import Directive, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR660"
TITLE = "a directive that sbatch does not know or cannot read"
SEVERITY = "error"
SOURCE = "sbatch(1); measured with SLURM 22.05.8"
FILE = "job.sbatch"

_KNOWN_WORDS = """
    account acctg-freq array batch bb bbf begin chdir clusters cluster-constraint comment constraint
    container container-id container-image container-mounts container-workdir container-name
    container-save container-mount-home container-remap-root container-writable container-entrypoint
    contiguous core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot
    dependency distribution error exclude exclusive export export-file extra extra-node-info
    get-user-env gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres
    gres-flags help hint hold ignore-pbs input job-name kill-on-invalid-dep licenses mail-type
    mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nice no-kill no-requeue
    nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
    open-mode output overcommit oversubscribe parsable partition power prefer priority profile
    propagate qos quiet reboot requeue reservation resv-ports segment signal sockets-per-node
    spread-job stepmgr switches test-only thread-spec threads-per-core time time-min tmp
    tres-bind tres-per-task uid umask usage use-min-nodes verbose version wait wait-all-nodes wckey
    wrap x11 consolidate-segments oom-kill-step spread-segments requeue-on-fail network-constraint
"""
KNOWN = frozenset(_KNOWN_WORDS.split())
#: Options whose value is one number, and what may follow it or stand next to it.
NUMBERS = {
    "nodes": r"\d+[kmKM]?(-\d+[kmKM]?)?(:\d+)?|\d+(,\d+)+|\d+-\d+:\d+",
    "ntasks": r"\d+[kmKM]?",
    "ntasks-per-node": r"\d+",
    "cpus-per-task": r"\d+",
    "cpus-per-gpu": r"\d+",
    "gpus-per-node": r"([A-Za-z][\w.-]*:)?\d+(,.*)?",
    "gpus-per-task": r"([A-Za-z][\w.-]*:)?\d+(,.*)?",
    "gpus": r"([A-Za-z][\w.-]*:)?\d+(,.*)?",
    "mem": r"\d+(\.\d+)?[kmgtKMGT]?[bB]?",
    "segment": r"\d+",
    "open-mode": r"append|truncate|[at]",
    "signal": r"([RB]+:)?(SIG)?[A-Za-z0-9]+(@\d+)?",
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for directive in batch.directives.values():
            yield from _check(directive)


def _check(directive: Directive) -> Iterator[Complaint]:
    name, value = directive.name, directive.value
    if name not in KNOWN:
        near = did_you_mean(name, KNOWN)
        # Sites add options by plugins: only what resembles one of SLURM's own is certainly a slip.
        severity: Severity | None = None if near else "info"
        help_text = near.replace("`", "`--", 1) if near else None
        yield Complaint(f"sbatch has no option --{name}", directive.place, (), help_text, severity)
        return
    pattern = NUMBERS.get(name)
    odd = pattern is not None and (value is None or not re.fullmatch(pattern, value))
    if odd and not re.search(r"[$<>%]", value or ""):
        shown = f"`{value}`" if value else "nothing"
        yield Complaint(f"--{name} cannot be {shown}", directive.place)
