"""`scontrol show hostnames | head -n 1` under `set -o pipefail`.

Why:
With a long list of nodes scontrol dies of SIGPIPE when head has read its line, and the script ends with
141: never up to 512 nodes, now and then at 1024.

Bad:
#!/bin/bash
#SBATCH --nodes=1024
set -eo pipefail
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
echo "$MASTER_ADDR"

Good:
#!/bin/bash
#SBATCH --nodes=1024
set -eo pipefail
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
MASTER_ADDR=${hosts%%$'\\n'*}
echo "$MASTER_ADDR"
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR659"
TITLE = "head behind scontrol under pipefail"
SEVERITY = "info"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        if not re.search(r"pipefail", batch.text):
            continue
        for number, _ in batch.commands(r"scontrol show hostnames?[^|]{0,200}\|\s*head\b"):
            message = "scontrol may die of SIGPIPE when head has read its line"
            place = batch.place(number, r"\|\s*head\b")
            yield Complaint(message, place, help="${hosts%%$'\\n'*}")
