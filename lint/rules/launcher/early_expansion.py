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
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.batch import Batch, batches
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR607"
TITLE = "a task's own variable is expanded by the batch shell"
SEVERITY = "warning"
SOURCE = (
    "measured with SLURM 22.05.8: 0 on every task; AMDResearch/hpcfund#47, "
    "sgl-project/sglang#36116"
)
FILE = "job.sbatch"


_OWN = re.compile(r"(?<!\\)\$\{?(SLURM_(?:PROCID|NODEID|LOCALID)|SLURMD_NODENAME)\b")

_RANKED = re.compile(r"--node[-_]rank|--machine[-_]rank|\bRANK=")
_MEETING = re.compile(r"--rdzv[-_]backend[ =]['\"]?(?!static)\w|\bc10d\b")
_TASKS = re.compile(r"\s(?:-n|--ntasks|--gpus-per-task|--gpus)\b")
#: Numbers of nodes and tasks that follow what is asked for.
_COUNTED = re.compile(r"\$\{?SLURM_(?:JOB_NUM_NODES|NNODES|NTASKS|NPROCS)\b")
_NODE_RANK = re.compile(r"--(?:node|machine)[-_]rank[ =]\S+")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        for number, line in batch.commands(r"\bsrun\b"):
            start = line.index("srun")
            name = expanded_early(line[start:])
            if name is None:
                continue
            place = batch.place(number, rf"\$\{{?{name}\b")
            help_text = f"single quotes, or \\${name}"
            alone = batch.nodes == 1 and (name == "SLURM_NODEID" or _only_task(batch, line))
            severity = _severity(line, _rendezvous(batch, line))
            if alone and severity != "info":
                severity = "warning" if _COUNTED.search(line) else "info"
            message = f"${name} is expanded once, on the first node, and is 0 for every task"
            yield Complaint(message, place, help=help_text, severity=severity)


def _only_task(batch: Batch, line: str) -> bool:
    """Whether neither a job of one node nor its srun asks for more than one task."""
    asked = batch.get("ntasks", "ntasks-per-node")
    return (asked is None or asked.number == 1) and not _TASKS.search(line)


def _rendezvous(batch: Batch, line: str) -> bool:
    """Whether torchrun meets otherwise than by static ranks, as the command says or a variable in it."""
    named = "|".join(re.findall(r"\$\{?(\w+)", line)) or "$"
    assigned = batch.commands(rf"^\s*(?:export\s+|readonly\s+|local\s+)?(?:{named})\+?=")
    return any(_MEETING.search(text) for text in (line, *(each for _, each in assigned)))


def _severity(line: str, meets: bool) -> Severity:
    """By what the variable is for: torchrun reads --node-rank only of static rendezvous
    (torch 2.13 distributed/run.py:863), and accelerate hands its --machine_rank on as that
    (accelerate utils/launch.py, prepare_multi_gpu_env)."""
    ranked = _RANKED.search(line)
    if not meets:
        return "error" if ranked else "warning"
    return "warning" if _OWN.search(_NODE_RANK.sub("", line)) else "info"


def expanded_early(command: str) -> str | None:
    """The first such variable outside single quotes."""
    quote = ""
    position = 0
    while position < len(command):
        character = command[position]
        if character == "\\" and quote != "'":
            position += 2
            continue
        if character in "\"'":
            quote = "" if quote == character else quote or character
        match = _OWN.match(command, position) if quote != "'" else None
        if match:
            return match[1]
        position += 1
    return None
