"""Words in a directive that are neither an option nor its value. A comment behind `#` is allowed.

Why:
SLURM refuses the script: "Invalid directive found in batch script".

Bad:
#!/bin/bash
#SBATCH --nodes=2 two nodes
srun hostname

Good:
#!/bin/bash
#SBATCH --nodes=2  # two nodes
srun hostname
"""

from collections.abc import Iterator

from ....reading.bash.source import file_source
from ....reading.sbatch_options import header_words, options
from ...facts.batch import batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR634"
TITLE = "words in a directive that are not an option"
SEVERITY = "warning"
SOURCE = "measured with SLURM 22.05.8"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for words in header_words(file_source(batch.path, batch.text)):
            extra = options(words)[1]
            if extra and extra[0] is not words[0]:
                word = extra[0]
                place = Place(word.path, word.line, word.column, len(word.lead))
                message = f"`{word.lead}` is not an option"
                yield Complaint(message, place, help="put a # before the remark")
