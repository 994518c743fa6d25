"""`continue` or `break` in no loop: bash prints a complaint, and the script goes on with the next line.

Why:
What was to be skipped is done: a script that was a loop, and is now a job array or a single run, trains or
evaluates with what its test has just found missing. bash answers with 0, so `set -e` ends nothing. Of a
function the loop may be the caller's.

Bad:
if [ ! -d "$CHECKPOINT" ]; then
    echo "no checkpoint, skipping"
    continue
fi
torchrun --nproc-per-node 8 train.py --load "$CHECKPOINT"

Good:
if [ ! -d "$CHECKPOINT" ]; then
    echo "no checkpoint, skipping"
    exit 0
fi
torchrun --nproc-per-node 8 train.py --load "$CHECKPOINT"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....reading.bash.source import file_source
from ....reading.bash.syntax_tree import descendants, parse
from ...facts.launched_job import LaunchedJob, is_script
from ...finding import Complaint

if TYPE_CHECKING:
    from tree_sitter import Node

CODE = "PAR815"
TITLE = "`continue` or `break` outside of a loop"
SEVERITY = "error"
STOPS = "itself"
SOURCE = "bash(1), SHELL BUILTIN COMMANDS: continue; tried with bash 5.2"
SINCE = "2026-12"

_WORDS = re.compile(r"(?:^|;|&&|\|\||\bthen|\belse)[ \t]*(?:continue|break)\b", re.M)
#: Nodes in which the words have a loop, or may have their caller's.
_LOOPS = {
    "for_statement",
    "c_style_for_statement",
    "while_statement",
    "function_definition",
    "ERROR",
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    path = launch.path
    text = launch.config.texts.get(path, "")
    if not is_script(path, text) or not _WORDS.search(text):
        return
    source = file_source(path, text)
    for node in descendants(parse(source)):
        word = source.text[node.start_byte : node.end_byte] if node.type == "command" else ""
        if re.fullmatch(r"(?:continue|break)(?:\s+\d+)?", word) and not _has_loop(node):
            message = f"`{word}` stands in no loop: the script goes on behind it"
            yield Complaint(message, launch.place(path, node.start_byte, len(word)), help="exit 0")


def _has_loop(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type not in _LOOPS:
        above = above.parent
    return above is not None
