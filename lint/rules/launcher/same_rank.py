"""srun, or an operator of Kubernetes, starts the same command on several nodes, and its number of the node is
the same on each of them.

Why:
With static rendezvous, which is the default, a node is what --node-rank says, 0 unless given; with
accelerate what --machine_rank or `machine_rank` of its config says. Nodes that all call themselves the first
wait for the others until the rendezvous times out. c10d gives the numbers out itself.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes 2 --nproc-per-node 8 --node-rank 0 --master-addr "$MASTER_ADDR" pretrain_gpt.py

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d \\
    --rdzv-endpoint "$MASTER_ADDR:29500" pretrain_gpt.py
"""

import re
from collections.abc import Iterator

from ....compiler.target import Effect
from ....reading.bash.trace import TracedCommand
from ....reading.bash.values import Word
from ....reading.facts import dashed, number_of
from ...facts.batch import batches
from ...facts.commands import launchers, place_of, ran_by, step_options
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import accelerate_count
from ...finding import At, Complaint, Related

CODE = "PAR667"
TITLE = "every node has the same rank"
SEVERITY = "error"
SINCE = "2026-12"
SOURCE = "huggingface/accelerate#1327; torch/distributed/run.py: static rendezvous"
FILE = "job.sbatch"


#: Options with which a step is not the whole job's, and such as start it on one node after another.
PART = frozenset({"nodes", "ntasks", "nodelist", "relative", "exclude", "het-group"})
#: What gives ranks out otherwise, or says them where no option does.
_OTHERWISE = re.compile(
    r"rdzv[-_](?:backend|endpoint|conf)|c10d|etcd|PET_NODE_RANK|--standalone|\bhostfile\b|pdsh"
)
#: accelerate starts DeepSpeed's processes from one node unless told otherwise (deepspeed_multinode_launcher).
_FROM_ONE = re.compile(r"--use[-_]deepspeed|distributed_type:[ \t]*DEEPSPEED")
_ON_EACH = re.compile(r"deepspeed_multinode_launcher\W+standard")
_RANKS = ("--node-rank", "--machine-rank")
_WRITTEN = re.compile(r"--node[-_]rank[ =\"',]{1,8}(\d{1,6})(?!\w)")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from _pods(launch)
    for batch in batches(launch):
        started = launchers(ran_by(launch, batch))
        if batch.nodes is None or batch.nodes < 2 or len(started) != 1:
            continue
        command, word = started[0]
        step = command.step
        if _machines(launch) != batch.nodes or not step or not PART.isdisjoint(step_options(step)):
            continue
        if given_out("\n".join(launch.config.texts.values())):
            continue
        stated = _rank(launch, command, word)
        if stated is not None:
            place, rank = stated
            nodes = batch.get("nodes")
            related = (Related(f"{batch.nodes} nodes", nodes.place),) if nodes else ()
            message = f"each of {batch.nodes} nodes has rank {rank}"
            yield Complaint(message, place, related, _cure(word))


def _pods(launch: LaunchedJob) -> Iterator[Complaint]:
    """Pods that an operator counts as nodes of one job, each with one number; a manifest may give each of
    its commands another."""
    stated, pods = launch.setting("launcher", "--node-rank"), launch.number("pods")
    rank = number_of(stated)
    told = number_of(launch.setting("environment", "PET_NNODES"))
    text = "\n".join(launch.config.texts.values())
    if stated is None or rank is None or not pods or pods < 2 or told != pods:
        return
    if {int(each) for each in _WRITTEN.findall(text)} == {rank} and not given_out(text):
        related = (Related(f"{pods} pods", launch.facts["pods"]),)
        message = f"each of {pods} pods has rank {rank}"
        yield Complaint(message, stated, related, "--node-rank $RANK", effect=Effect.STOPS)


def given_out(text: str) -> bool:
    """Whether something in the job's files may give the nodes their numbers, or starts the others itself."""
    from_one = _FROM_ONE.search(text) and not _ON_EACH.search(text)
    return bool(from_one or _OTHERWISE.search(text))


def _machines(launch: LaunchedJob) -> int | None:
    return number_of(launch.setting("launcher", "--nnodes") or accelerate_count(launch, "nodes"))


def _rank(launch: LaunchedJob, command: TracedCommand, word: Word) -> tuple[At, int] | None:
    """The number that the command or accelerate's config gives to all nodes, and its place."""
    stated = launch.setting("launcher", *_RANKS)
    if stated is None and not any(dashed(each.lead).startswith(_RANKS) for each in command.words):
        if word.text != "accelerate":
            static = launch.setting("launcher", "--master-addr") is not None
            return (place_of(word, command), 0) if static else None
        stated = launch.setting("yaml", "machine_rank")
    rank = number_of(stated)
    return None if stated is None or rank is None else (stated, rank)


def _cure(word: Word) -> str:
    if word.text == "accelerate":
        return "srun bash -c 'accelerate launch --machine_rank $SLURM_NODEID ...'"
    return "--rdzv-backend c10d --rdzv-endpoint HOST:PORT"
