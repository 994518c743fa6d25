"""Lines that end in CR LF, or an sbatch file without `#!`.

Why:
sbatch refuses both: "DOS line breaks", and "This does not look like a batch script". bash takes the CR for
a part of every last word, and a command ends at a backslash before it. `--fix` repairs both.

Bad:
#SBATCH --nodes=1
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
srun python train.py
"""

import re
from collections.abc import Iterator

from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob, is_script
from ...finding import Complaint, Edit, Place

CODE = "PAR805"
TITLE = "a script with CR LF lines, or without #!"
SEVERITY = "error"
SOURCE = "sbatch(1); measured with SLURM 22.05.8; shufangxun/LLaVA-MoD#16"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for path, text in launch.config.texts.items():
        if "\r\n" in text and is_script(path, text):
            yield _carriage_returns(path, text)
    for batch in batches(launch):
        if batch.directives and not batch.text.startswith("#!"):
            edit = Edit(batch.path, 0, 0, "#!/bin/bash\n")
            yield Complaint(
                "sbatch wants #! in the first line",
                Place(batch.path, 1),
                help="#!/bin/bash",
                edits=(edit,),
            )


def _carriage_returns(path: str, text: str) -> Complaint:
    line = text.count("\n", 0, text.index("\r\n")) + 1
    found = re.finditer("\r\n", text)
    edits = tuple(Edit(path, match.start(), match.end(), "\n") for match in found)
    refused = "sbatch refuses the script" if "#SBATCH" in text else "bash reads \\r as text"
    message = f"lines end in CR LF: {refused}"
    return Complaint(message, Place(path, line), help="LF alone", edits=edits)
