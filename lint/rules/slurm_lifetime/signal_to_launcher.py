"""A signal to the step reaches torchrun, which dies of it or kills its workers after 30 seconds.

Why:
A checkpoint that takes longer is lost. torchrun must be told to pass the signal on, and to wait.

Bad:
#!/bin/bash
#SBATCH --time=24:00:00
#SBATCH --signal=USR1@600
srun torchrun --nproc-per-node 8 train.py

Good:
#!/bin/bash
#SBATCH --time=24:00:00
#SBATCH --signal=USR1@600
srun torchrun --nproc-per-node 8 --signals-to-handle=SIGTERM,SIGUSR1 --shutdown-timeout=500 train.py
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.commands import launchers, ran_by
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR652"
TITLE = "a signal to the step that torchrun does not pass on"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8 and torch 2.13.0; pytorch/pytorch#119856"
FILE = "job.sbatch"


_TOLD = (
    r"--signals[-_]to[-_]handle|--shutdown[-_]timeout"
    r"|TORCH_ELASTIC_SHUTDOWN_TIMEOUT|TORCHELASTIC_SIGNALS_TO_HANDLE"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        given = batch.get("signal")
        value = given.value or "" if given else ""
        if given is None or not re.fullmatch(r"(?:SIG)?USR[12](?:@\d+)?", value):
            continue
        started = launchers(ran_by(launch, batch))
        elastic = any(
            str(word.text).startswith("torch") or word.tail.endswith("torchrun")
            for _, word in started
        )
        if elastic and not re.search(_TOLD, batch.text):
            message = f"{value.partition('@')[0]} ends torchrun and its workers"
            help_text = "--signals-to-handle and --shutdown-timeout, or --signal=B: with a trap"
            yield Complaint(message, given.place, help=help_text)
