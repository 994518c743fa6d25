"""A pipe behind a training hides its exit code.

Why:
The exit code of `torchrun ... | tee log` is tee's, 0, however the training ends, and so is that of
`eval $CMD | tee log` and of a block or a function: an `if`, a test of `$?`, `&&` or `||` behind it sees
success, a requeue never comes, `set -e` does not end the script, and where it is the last command the whole
script succeeds. `set -o pipefail` passes the training's code on. Without such a test it is a hint, for
all goes well as long as the training does.

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

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....dsl.diagnostics import Severity
from ....reading.bash.commands.launching import LAUNCHERS, PYTHONS
from ....reading.bash.source import file_source
from ....reading.bash.syntax_tree import descendants, parse
from ....reading.bash.trace import TracedCommand
from ...facts.commands import asks
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
#: What may test the text that it reads: `if srun nvidia-smi | awk '... exit 1'`.
_FILTERS = (b"cat", b"sed", b"awk")
#: `set -e` or `set +e`, alone or with other letters.
_ERREXIT = re.compile(r"[-+][a-zA-Z]*e")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    ran = launch.commands_of(launch.path)
    text = launch.config.texts.get(launch.path, "")
    if "|" not in text or "PIPESTATUS" in text or any(map(_keeps, ran)):
        return
    running = _running(launch.path, ran)
    if not running:
        return
    root = parse(file_source("", text))
    called = _functions(root, running)
    for node in (each for each in descendants(root) if each.type == "pipeline"):
        first, stage, operator = _stages(node)
        name = ((stage.text or b"").split() or [b""])[0]
        runs = _point(node) in running or _runs(first, running, called)
        if not runs or name not in _ENDS:
            continue
        tested = _point(operator) if operator is not None else _tested(node)
        ends = _ends_at_errors(node, root, ran) if tested is None else None
        if name in _FILTERS and (_is_condition(node) or _asked(node, ran)):
            continue
        heard = tested or ends
        if heard is None and not _last(node, root):
            continue
        place = Place(launch.path, *_point(stage), len(name))
        said = "tested here" if ends is None else "is to end the script"
        related = () if heard is None else (Related(said, Place(launch.path, *heard)),)
        message = f"the exit code is that of {name.decode()}, however the training ends"
        level: Severity | None = None if tested is not None else "info"
        yield Complaint(message, place, related, "set -o pipefail", level)
        return


def _running(path: str, ran: list[TracedCommand]) -> set[tuple[int, int]]:
    """Where the script starts a training, by line and column; an `eval` does what runs behind it."""
    places = set()
    for at, command in enumerate(ran):
        if command.place[0] == path and not _RUNS.isdisjoint(command.programs):
            places.add(command.place[1:])
            if at and ran[at - 1].programs == ("eval",):
                places.add(ran[at - 1].place[1:])
    return places


def _functions(root: Node, running: set[tuple[int, int]]) -> set[bytes]:
    """The functions of the script that start a training."""
    made = (node for node in descendants(root) if node.type == "function_definition")
    names = ((node.child_by_field_name("name"), node) for node in made)
    return {name.text or b"" for name, node in names if name is not None and _holds(node, running)}


def _runs(stage: Node, running: set[tuple[int, int]], called: set[bytes]) -> bool:
    """Whether a stage starts a training: itself, in a block, or by a function."""
    if stage.type == "negated_command":
        stage = _parts(stage)[0]
    names = (each.text or b"" for each in descendants(stage) if each.type == "command_name")
    return _holds(stage, running) or not called.isdisjoint(names)


def _holds(node: Node, running: set[tuple[int, int]]) -> bool:
    start, (row, column) = _point(node), node.end_point
    return any(start <= place < (row + 1, column + 1) for place in running)


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


def _ends_at_errors(pipeline: Node, root: Node, ran: list[TracedCommand]) -> tuple[int, int] | None:
    """Where `set -e` stands above a statement of the script that others follow."""
    if pipeline.parent != root or _last(pipeline, root) or _is_read(pipeline):
        return None
    above = [
        each for each in ran if each.programs == ("set",) and each.place[1:] < _point(pipeline)
    ]
    said = [(word.lead, each.place[1:]) for each in above for word in each.words[1:]]
    ends = [(text, place) for text, place in said if _ERREXIT.match(text)]
    return ends[-1][1] if ends and ends[-1][0].startswith("-") else None


def _is_read(pipeline: Node) -> bool:
    """Whether a command below reads the log, and may find there that the training failed."""
    words = (_stages(pipeline)[1].text or b"").split()[1:]
    logs = [word.strip(b"\"'") for word in words if not word.startswith((b"-", b">", b"2>"))]
    below = pipeline.next_named_sibling
    while below is not None:
        text = below.text or b""
        if not text.startswith((b"echo", b"printf", b"#")) and any(log in text for log in logs):
            return True
        below = below.next_named_sibling
    return False


def _tested(pipeline: Node) -> tuple[int, int] | None:
    """Where the code of a pipeline is looked at, by line and column."""
    below: Node = pipeline
    while below.parent is not None and below.parent.type == "list":
        operators = [child for child in below.parent.children if child.type in ("&&", "||")]
        if operators and below.parent.children[0] == below:
            return _point(operators[0])
        below = below.parent
    if below.parent is not None and _is_condition(below):
        return _point(below.parent)
    behind: Node | None = below.next_named_sibling
    while behind is not None and behind.type == "comment":
        behind = behind.next_named_sibling
    asked = (
        (each for each in descendants(behind) if each.type == "simple_expansion") if behind else ()
    )
    found = next((each for each in asked if (each.text or b"").strip() == b"$?"), None)
    return None if found is None else _point(found)


def _is_condition(node: Node) -> bool:
    """Whether an `if` or a `while` asks for the exit code of a statement."""
    above = node.parent
    asks_for = above is not None and above.type in ("if_statement", "while_statement")
    return asks_for and above is not None and node in above.children_by_field_name("condition")


def _asked(pipeline: Node, ran: list[TracedCommand]) -> bool:
    """Whether what a pipeline starts is a question, as `srun hostname` is."""
    start, (row, column) = _point(pipeline), pipeline.end_point
    inner = [each for each in ran if start <= each.place[1:] < (row + 1, column + 1)]
    return any(not _RUNS.isdisjoint(each.programs) and asks(each) for each in inner)


def _last(pipeline: Node, root: Node) -> bool:
    """Whether a pipeline is the last statement of its script."""
    statements = [child for child in root.children if child.is_named and child.type != "comment"]
    return bool(statements) and statements[-1] == pipeline
