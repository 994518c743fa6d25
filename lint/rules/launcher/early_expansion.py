"""A variable that differs from task to task is expanded by the batch shell, which is task 0 of node 0.

Why:
`$SLURM_PROCID`, `$SLURM_NODEID` and `$SLURM_LOCALID` become 0 for every task: all nodes call themselves the
first, and the rendezvous hangs or fails with EADDRINUSE. With c10d or etcd torchrun does not read
--node-rank, so that there it only misleads and is a hint; so is the number of the only node. Where the
command takes the number of nodes from SLURM it is meant for more of them, and the only node's is a warning.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun bash -c "torchrun --nnodes 2 --nproc-per-node 8 --node-rank $SLURM_NODEID \\
    --master-addr host1 pretrain_gpt.py"

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun bash -c 'torchrun --nnodes 2 --nproc-per-node 8 --node-rank $SLURM_NODEID \\
    --master-addr host1 pretrain_gpt.py'
"""

import re
from collections.abc import Iterator, Sequence

from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.bash.trace import Expansion, TracedCommand
from ....reading.bash.values import Word
from ....reading.facts import number_of
from ...facts.batch import Batch, batches
from ...facts.commands import ran_by, step_options, steps, written
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place
from .same_rank import PART, given_out

CODE = "PAR607"
TITLE = "a task's own variable is expanded by the batch shell"
SEVERITY = "warning"
SOURCE = (
    "measured with SLURM 22.05.8: 0 on every task; AMDResearch/hpcfund#47, "
    "sgl-project/sglang#36116"
)
FILE = "job.sbatch"


_OWN = frozenset({"SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID", "SLURMD_NODENAME"})
_USED = re.compile(r"(?<!\\)\$(?:SLURM_(?:PROCID|NODEID|LOCALID)|SLURMD_NODENAME)\b")
_RANKED = re.compile(r"--node[-_]rank|--machine[-_]rank|\bRANK=")
_MEETING = re.compile(r"--rdzv[-_]backend[ =]['\"]?(?!static)\w|\bc10d\b")
_TASKS = frozenset({"ntasks", "gpus-per-task", "gpus"})
#: Numbers of nodes and tasks that follow what is asked for.
_COUNTED = frozenset({"SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NTASKS", "SLURM_NPROCS"})
_OWN_RANK = re.compile(r"--node[-_]rank[ =]['\"]{0,2}\$\{?SLURM_(?:PROCID|NODEID)\b")
_NODE_RANK = re.compile(r"--(?:node|machine)[-_]rank[ =]\S+")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        early: dict[Expansion, tuple[TracedCommand, tuple[Word, ...]]] = {}
        for command, step in steps(ran_by(launch, batch)):
            read = next((each for each in command.reads if each.name in _OWN), None)
            if read is not None:
                early.setdefault(read, (command, step))
        for read, (command, step) in early.items():
            severity = _severity(written(command))
            alone = batch.nodes == 1 and (read.name == "SLURM_NODEID" or _only_task(batch, step))
            if alone and severity != "info":
                counted = any(each.name in _COUNTED for each in command.reads)
                severity = "warning" if counted else "info"
            place = Place(read.path, read.line, read.column, read.length)
            help_text = f"single quotes, or \\${read.name}"
            message = f"${read.name} is expanded once, on the first node, and is 0 for every task"
            effect = Effect.STOPS if _one_rank(launch, batch, command, step) else None
            yield Complaint(message, place, help=help_text, severity=severity, effect=effect)


def _one_rank(
    launch: LaunchedJob, batch: Batch, command: TracedCommand, step: Sequence[Word]
) -> bool:
    """Whether torchrun waits for several nodes, which srun starts at once and which all call themselves the
    first."""
    counted = number_of(launch.setting("launcher", "--nnodes"))
    if not batch.nodes or batch.nodes < 2 or counted != batch.nodes:
        return False
    if not PART.isdisjoint(step_options(step)) or not _OWN_RANK.search(written(command)):
        return False
    return not given_out("\n".join(launch.config.texts.values()))


def _only_task(batch: Batch, step: Sequence[Word]) -> bool:
    """Whether neither a job of one node nor its srun asks for more than one task."""
    asked = batch.get("ntasks", "ntasks-per-node")
    return (asked is None or asked.number == 1) and _TASKS.isdisjoint(step_options(step))


def _severity(line: str) -> Severity:
    """By what the variable is for: torchrun reads --node-rank only of static rendezvous
    (torch 2.13 distributed/run.py:863), and accelerate hands its --machine_rank on as that
    (accelerate utils/launch.py, prepare_multi_gpu_env)."""
    if not _MEETING.search(line):
        return "error" if _RANKED.search(line) else "warning"
    return "warning" if _USED.search(_NODE_RANK.sub("", line)) else "info"
