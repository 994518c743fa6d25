"""Launches of one job, for one node each, that run one after the other.

Why:
torchrun with `--nnodes 2` waits for the second node. Where the script starts that one only when the first has
ended, neither ever trains: the rendezvous times out.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun -N1 -n1 torchrun --nproc-per-node 8 --nnodes 2 --node-rank 0 --master-addr "$HEAD" train.py
srun -N1 -n1 torchrun --nproc-per-node 8 --nnodes 2 --node-rank 1 --master-addr "$HEAD" train.py

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun -N1 -n1 torchrun --nproc-per-node 8 --nnodes 2 --node-rank 0 --master-addr "$HEAD" train.py &
srun -N1 -n1 torchrun --nproc-per-node 8 --nnodes 2 --node-rank 1 --master-addr "$HEAD" train.py &
wait
"""

from collections.abc import Iterator, Sequence

from ....reading.bash.source import file_source
from ....reading.bash.syntax_tree import parse
from ....reading.bash.trace import TracedCommand
from ....reading.bash.values import Word
from ....reading.facts import dashed, whole
from ...facts.commands import launchers, place_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related

CODE = "PAR685"
TITLE = "launches of one job that wait for each other"
SEVERITY = "error"
STOPS = "itself"
SINCE = "2026-12"
SOURCE = "torch/distributed/run.py: static rendezvous; ai4d-iasc/trixie#52"
FILE = "job.sbatch"

_RANKS = ("--node-rank", "--machine-rank")
_COUNTS = ("--nnodes", "--num-machines")
#: What two launches of one job have in common, as far as they say it.
_MEETING = (
    ("--master-addr", "--main-process-ip", "--rdzv-endpoint"),
    ("--master-port", "--main-process-port"),
)
#: Programs that start a command elsewhere and may return at once.
_AWAY = frozenset({"ssh", "pdsh", "clush", "nohup", "setsid", "tmux", "screen", "sbatch", "docker"})

#: Nodes of the syntax tree between a word of a command and the block in which it stands.
_STATEMENT = frozenset(
    {"word", "command_name", "command", "variable_assignment", "redirected_statement", "pipeline",
     "simple_expansion", "variable_name", "concatenation", "string"}
)  # fmt: skip


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    ran = [each for each, _ in launchers(launch.commands_of(launch.path)) if each.step is not None]
    for first, second in zip(ran, ran[1:], strict=False):
        ranks = [_number(each, _RANKS) for each in (first, second)]
        counts = [_number(each, _COUNTS) for each in (first, second)]
        if None in ranks or ranks[0] == ranks[1] or counts[0] != counts[1] or (counts[0] or 0) < 2:
            continue
        if _meeting(first) != _meeting(second) or not (_waits(first) and _waits(second)):
            continue
        if not _follow(launch.config.texts.get(first.place[0], ""), first, second):
            continue
        related = (Related(f"node {ranks[1]} is started when it ends", _place(second)),)
        message = f"node {ranks[0]} of {counts[0]} runs in the foreground, and waits for the others"
        yield Complaint(message, _place(first), related, "`&` behind each, and `wait`")
        return


def _follow(text: str, first: TracedCommand, second: TracedCommand) -> bool:
    """Whether two commands are statements of one block, not of two branches of a test."""
    blocks = [_block(text, each) for each in (first, second)]
    return first.place[0] == second.place[0] and None not in blocks and blocks[0] == blocks[1]


def _block(text: str, command: TracedCommand) -> int | None:
    """Where the block begins in which a command of a file stands."""
    point = (command.place[1] - 1, command.place[2] - 1)
    node = parse(file_source("", text)).descendant_for_point_range(point, point)
    while node is not None and node.type in _STATEMENT:
        node = node.parent
    return None if node is None else node.start_byte


def _place(command: TracedCommand) -> Place:
    return place_of(command.words[0], command)


def _waits(command: TracedCommand) -> bool:
    """Whether the script goes on only when the command has ended."""
    return _AWAY.isdisjoint(command.programs) and not command.background


def _number(command: TracedCommand, names: Sequence[str]) -> int | None:
    value = _value(command, names)
    return whole(value.text) if value is not None and isinstance(value.text, str) else None


def _meeting(command: TracedCommand) -> list[tuple[object, ...]]:
    """Where the launches meet: texts as they are, unknown values by what decides them."""
    values = [_value(command, names) for names in _MEETING]
    return [
        () if each is None else tuple(part.text for part in each.pieces if part.text)
        for each in values
    ]


def _value(command: TracedCommand, names: Sequence[str]) -> Word | None:
    """The word behind an option, or the rest of `--option=value`."""
    for index, word in enumerate(command.words):
        name, sign, _ = word.lead.partition("=")
        if dashed(name) in names and sign:
            return word.cut(len(name) + 1)
        if dashed(name) in names and index + 1 < len(command.words):
            return command.words[index + 1]
    return None
