"""A script that starts itself, whatever is given to it.

Why:
Each run starts the next one and waits for it: nothing trains, and processes pile up until the job's memory or
its time ends. Where the path is one of another folder, the script that was meant is not there either.
Nothing is said of a call that a test, a function or an earlier `exit` guards.

Bad:
--- finetune.sh
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:4
bash finetune.sh --model llama --deepspeed zero3.json

Good:
--- finetune.sh
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:4
deepspeed --num_gpus 4 finetune.py --model llama --deepspeed zero3.json
--- zero3.json
{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ....reading.bash.source import file_source
from ....reading.bash.syntax_tree import parse
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

if TYPE_CHECKING:
    from tree_sitter import Node

CODE = "PAR818"
TITLE = "a script that starts itself"
SEVERITY = "error"
STOPS = "itself"
SOURCE = "bash(1); tried with bash 5.2"
SINCE = "2026-12"
FILE = "finetune.sh"

#: Words that may end a run before its call, or keep the call from a second run.
_ENDS = re.compile(r"\b(?:exit|return|exec|kill|wait|sbatch|flock)\b")
#: Nodes of the syntax tree between the word of an unguarded command and its script.
_PLAIN = {
    "word",
    "command_name",
    "command",
    "redirected_statement",
    "string",
    "string_content",
    "program",
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    path = launch.path
    text = launch.config.texts.get(path, "")
    for unread in launch.config.unread:
        name = unread.itself
        if unread.path != path or not name:
            continue
        call = _unguarded(text, unread.line, unread.column)
        if call is not None and not _has_another(launch, name):
            row, column = call.start_point
            place = Place(path, row + 1, column + 1, len(call.text or b""))
            yield Complaint(f"`{name}` is this script: each run starts the next", place)
            return


def _unguarded(text: str, line: int, column: int) -> Node | None:
    """The command at a place where each run reaches it and goes on to it."""
    point = (line - 1, column - 1)
    node = parse(file_source("", text)).descendant_for_point_range(point, point)
    call = None
    while node is not None and node.type in _PLAIN:
        call = node if node.type == "command" else call
        node = node.parent
    if node is not None or call is None or b"sbatch" in (call.text or b""):
        return None
    before = text.encode()[: call.start_byte].decode(errors="replace")
    return None if _ENDS.search(before) else call


def _has_another(launch: LaunchedJob, name: str) -> bool:
    """Whether a folder above the script's has another file of that path, which a run from there starts."""
    above = PurePosixPath(launch.path).parents
    found = (posixpath.normpath(str(folder / name)) for folder in above)
    return any(each != launch.path and launch.read(each) is not None for each in found)
