"""Lines that end in CR LF, or an sbatch file without `#!` or whose `#!` names no absolute path.

Why:
sbatch refuses the first two: "DOS line breaks", and "This does not look like a batch script". bash takes
the CR for a part of every last word, and a command ends at a backslash before it; within quotes it belongs
to the text, which bash reads as it stands. `#!bin/bash` it takes, and the job ends on the node: "bad
interpreter". `--fix` repairs all.

Bad:
#SBATCH --nodes=1
srun python train.py

Good:
#!/bin/bash
#SBATCH --nodes=1
srun python train.py
"""

import re
from collections.abc import Iterator, Sequence

from ....reading.bash.source import file_source
from ....reading.bash.syntax_tree import parse
from ....reading.placeholders import IN_LINE
from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob, is_script
from ...finding import Complaint, Edit, Place

CODE = "PAR805"
TITLE = "a script with CR LF lines, or without a #! that works"
SEVERITY = "error"
SOURCE = "sbatch(1); measured with SLURM 22.05.8; shufangxun/LLaVA-MoD#16"
FILE = "job.sbatch"

_QUOTED = ("string", "raw_string", "ansi_c_string")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for path, text in launch.config.texts.items():
        if "\r\n" in text and is_script(path, text):
            yield from _carriage_returns(path, text)
    for batch in batches(launch):
        if batch.directives and not batch.text.startswith("#!") and not _filled_in(batch.text):
            edit = Edit(batch.path, 0, 0, "#!/bin/bash\n")
            yield Complaint(
                "sbatch needs #! in the first line",
                Place(batch.path, 1),
                help="#!/bin/bash",
                edits=(edit,),
            )
        elif batch.directives:
            yield from _relative(batch)


def _relative(batch: Batch) -> Iterator[Complaint]:
    """An interpreter that is looked for below the folder in which the job starts."""
    found = re.match(r"#![ \t]*((?:usr/(?:local/)?)?bin/\S+|(?:ba|z|da|k)?sh)(?=\s)", batch.text)
    if found is None:
        return
    start, name = found.start(1), found[1]
    path = f"/{name}" if "/" in name else f"/bin/{name}"
    edit = Edit(batch.path, start, found.end(1), path)
    message = f"the job ends as it starts: `{name}` is no absolute path: bad interpreter"
    place = Place(batch.path, 1, start + 1, len(name))
    yield Complaint(message, place, help=f"#!{path}", edits=(edit,))


def _filled_in(text: str) -> bool:
    """Whether several directives hold placeholders: what fills them in writes the first line, too."""
    directives = re.findall(r"^#SBATCH\s.*", text, re.MULTILINE)
    return sum(IN_LINE.search(line) is not None for line in directives) > 1


def _carriage_returns(path: str, text: str) -> Iterator[Complaint]:
    ends = [match.start() for match in re.finditer("\r\n", text)]
    batch = "#SBATCH" in text
    start = ends[0] if batch else next(_unquoted(path, text, ends), None)
    if start is None:
        return
    refused = "sbatch refuses the script" if batch else "bash reads \\r as text"
    yield Complaint(
        f"lines end in CR LF: {refused}",
        Place(path, text.count("\n", 0, start) + 1),
        help="end lines in LF",
        edits=tuple(Edit(path, end, end + 2, "\n") for end in ends),
    )


def _unquoted(path: str, text: str, ends: Sequence[int]) -> Iterator[int]:
    """Positions that no text in quotes goes on behind."""
    tree = parse(file_source(path, text))
    for end in ends:
        node = tree.descendant_for_byte_range(end, end + 2)
        while node is not None and node.type not in _QUOTED:
            node = node.parent
        if node is None:
            yield end
