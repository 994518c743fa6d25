"""A pipe behind a training hides its exit code.

Why:
The exit code of `torchrun ... | tee log` is tee's, 0, however the training ends: a test of `$?`, `&&` or `||`
behind it sees success, a requeue never comes, and where it is the last command the whole script succeeds.
`set -o pipefail` passes the training's code on. Without such a test it is a hint.

Bad:
torchrun --nproc-per-node 8 train.py | tee train.log
if [ $? -ne 0 ]; then
    echo "training failed"
fi

Good:
set -o pipefail
torchrun --nproc-per-node 8 train.py | tee train.log
if [ $? -ne 0 ]; then
    echo "training failed"
fi
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....reading.bash.commands.launching import LAUNCHERS, PYTHONS
from ....reading.bash.source import file_source
from ....reading.bash.syntax_tree import descendants, parse
from ....reading.bash.trace import TracedCommand
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related

if TYPE_CHECKING:
    from tree_sitter import Node

CODE = "PAR814"
TITLE = "a pipe that hides the exit code of the training"
SEVERITY = "error"
STOPS = "itself"
SINCE = "2026-12"
SOURCE = "bash(1), Pipelines; ROCm/Megatron-LM#145"

_RUNS = {*LAUNCHERS, *PYTHONS, "srun", "mpirun", "mpiexec"}
#: What succeeds whatever it reads.
_ENDS = (b"tee", b"ts", b"cat", b"sed", b"awk", b"stdbuf", b"logger")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    ran = launch.commands_of(launch.path)
    text = launch.config.texts.get(launch.path, "")
    if "|" not in text or "PIPESTATUS" in text or any(map(_keeps, ran)):
        return
    running = {each.place[1:] for each in ran if not _RUNS.isdisjoint(each.programs)}
    if not running:
        return
    root = parse(file_source("", text))
    for node in (each for each in descendants(root) if each.type == "pipeline"):
        first, stage, operator = _stages(node)
        name = ((stage.text or b"").split() or [b""])[0]
        if running.isdisjoint({_point(node), _point(first)}) or name not in _ENDS:
            continue
        tested = _point(operator) if operator is not None else _tested(node)
        if tested is None and not _last(node, root):
            continue
        place = Place(launch.path, *_point(stage), len(name))
        related = () if tested is None else (Related("tested here", Place(launch.path, *tested)),)
        message = f"the exit code is that of {name.decode()}, however the training ends"
        yield Complaint(
            message, place, related, "set -o pipefail", None if tested is not None else "info"
        )
        return


def _stages(pipeline: Node) -> tuple[Node, Node, Node | None]:
    """The first and the last stage, and the `&&` or `||` behind it, which the tree holds inside of it."""
    parts = _parts(pipeline)
    stage, operator = parts[-1], None
    while stage.type in ("list", "pipeline") and _parts(stage) != [stage]:
        if stage.type == "list":
            operator = next(
                (each for each in stage.children if each.type in ("&&", "||")), operator
            )
        inner = _parts(stage)
        stage = inner[0] if stage.type == "list" else inner[-1]
    return parts[0], stage, operator


def _parts(node: Node) -> list[Node]:
    """Statements below a node; itself where the tree has none."""
    parts = [child for child in node.children if child.is_named and child.type != "comment"]
    return parts or [node]


def _point(node: Node) -> tuple[int, int]:
    """Line and column, from 1."""
    return node.start_point[0] + 1, node.start_point[1] + 1


def _keeps(command: TracedCommand) -> bool:
    """Whether a command makes pipes fail with their first stage."""
    return command.programs[-1] == "set" and any(word.lead == "pipefail" for word in command.words)


def _tested(pipeline: Node) -> tuple[int, int] | None:
    """Where the code of a pipeline is looked at, by line and column."""
    below: Node = pipeline
    while below.parent is not None and below.parent.type == "list":
        operators = [child for child in below.parent.children if child.type in ("&&", "||")]
        if operators and below.parent.children[0] == below:
            return _point(operators[0])
        below = below.parent
    behind: Node | None = below.next_named_sibling
    while behind is not None and behind.type == "comment":
        behind = behind.next_named_sibling
    asked = (
        (each for each in descendants(behind) if each.type == "simple_expansion") if behind else ()
    )
    found = next((each for each in asked if (each.text or b"").strip() == b"$?"), None)
    return None if found is None else _point(found)


def _last(pipeline: Node, root: Node) -> bool:
    """Whether a pipeline is the last statement of its script."""
    statements = [child for child in root.children if child.is_named and child.type != "comment"]
    return bool(statements) and statements[-1] == pipeline
