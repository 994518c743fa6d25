"""Lines that end in CR LF, or an sbatch file without `#!`.

Why:
sbatch refuses both: "DOS line breaks", and "This does not look like a batch script". bash takes the CR for
a part of every last word. `--fix` repairs both.

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
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Edit, Place

CODE = "PAR805"
TITLE = "a script with CR LF lines, or without #!"
SEVERITY = "error"
SOURCE = "sbatch(1); measured with SLURM 22.05.8"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        if "\r\n" in batch.text:
            line = batch.text.count("\n", 0, batch.text.index("\r\n")) + 1
            edits = tuple(
                Edit(batch.path, match.start(), match.end(), "\n")
                for match in re.finditer("\r\n", batch.text)
            )
            place = Place(batch.path, line)
            yield Complaint(
                "lines end in CR LF: sbatch refuses the script", place, help="LF alone", edits=edits
            )
        if batch.directives and not batch.text.startswith("#!"):
            edit = Edit(batch.path, 0, 0, "#!/bin/bash\n")
            yield Complaint(
                "sbatch wants #! in the first line",
                Place(batch.path, 1),
                help="#!/bin/bash",
                edits=(edit,),
            )
