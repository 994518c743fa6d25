"""Commands follow srun, and nothing keeps its exit code.

Why:
The batch script ends with the code of its last command: a job whose training failed is COMPLETED, and
whatever depends on it goes on.

Bad:
#!/bin/bash
#SBATCH --nodes=1
srun python train.py
echo done

Good:
#!/bin/bash
#SBATCH --nodes=1
set -e
srun python train.py
echo done
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR646"
TITLE = "srun's exit code is lost"
SEVERITY = "info"
SOURCE = "measured with SLURM 22.05.8: srun failed with 3, the job was COMPLETED"
FILE = "job.sbatch"


_KEPT = r"\bset\s+-\w*e|\bset\s+-o\s+errexit|\$\?|\bexit\b|\|\||\bwait\b"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        steps = batch.commands(r"^\s*srun\b")
        if not steps or re.search(_KEPT, batch.text) or re.match(r"#!.*\s-\w*e", batch.text):
            continue
        last = steps[-1][0]
        after = [
            line
            for number, line in batch.body
            if number > last and line.strip() not in ("fi", "done", "}")
        ]
        if after:
            message = "the job ends with the code of its last command, not srun's"
            yield Complaint(
                message, batch.place(last, r"\bsrun\b"), help="set -e, or exit with srun's code"
            )
