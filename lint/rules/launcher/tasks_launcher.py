"""srun starts a task; torchrun, deepspeed and accelerate start the processes of a node themselves. So they
need one task per node, while a Python program that srun starts needs one task per GPU. A count of tasks
must agree with nodes and tasks per node.

Why:
With more tasks torchrun runs several times on a node: the first node's agents form the world alone, and the
others are not used. With a wrong --ntasks the job is refused.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32
"""

from collections.abc import Iterator, Sequence

from ....compiler.target import Effect
from ....reading.bash.commands.launching import PYTHONS
from ....reading.bash.trace import TracedCommand, program
from ....reading.facts import number_of
from ...facts.batch import Batch, Directive, batches
from ...facts.commands import launchers, place_of, ran_by, step_options
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR602"
TITLE = "tasks per node do not fit the launcher"
SEVERITY = "warning"
SOURCE = (
    "measured with SLURM 22.05.8: two agents of one node formed the world; "
    "Lightning-AI/pytorch-lightning#20391"
)
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        yield from _counts(batch)
        tasks = batch.get("ntasks-per-node")
        per_node = tasks.number if tasks else None
        if tasks is None or per_node is None:
            continue
        ran = ran_by(launch, batch)
        started = [(each, word) for each, word in launchers(ran) if each.step]
        if started and per_node != 1 and not all(_limited(each, batch) for each, _ in started):
            command, word = started[0]
            related = (Related("the launcher", place_of(word, command)),)
            message = f"{per_node} tasks per node, and each starts the processes of the whole node"
            yield _with_processes(launch, batch, per_node, message, tasks, related)
        elif not started:
            yield from _one_per_gpu(batch, ran, tasks, per_node)


def _with_processes(
    launch: LaunchedJob,
    batch: Batch,
    tasks: int,
    message: str,
    place: Directive,
    related: tuple[Related, ...],
) -> Complaint:
    """Certain where the processes of all tasks are more than the node has GPUs."""
    gpus = batch.gpus_per_node
    each = number_of(launch.setting("launcher", "--nproc-per-node"))
    cure = "--ntasks-per-node=1"
    if gpus is None or not each or tasks * each <= gpus[0]:
        return Complaint(message, place.place, related, cure)
    return Complaint(message, place.place, related, cure, "error", effect=Effect.STOPS)


def _limited(command: TracedCommand, batch: Batch) -> bool:
    """Whether srun itself asks for one task per node, or for a number of tasks that nobody knows."""
    options = step_options(command.step or ())
    if "ntasks-per-node" in options:
        return options["ntasks-per-node"].number in (1, None)
    if "ntasks" not in options:
        return False
    tasks = options["ntasks"].number
    return tasks is None or tasks <= (batch.nodes or 1)


def _takes_all(command: TracedCommand) -> bool:
    """Whether srun starts a command with the tasks of the job, and not with a number of its own."""
    if not command.step:
        return False
    return not {"ntasks", "ntasks-per-node"} & step_options(command.step).keys()


def _one_per_gpu(
    batch: Batch, ran: Sequence[TracedCommand], tasks: Directive, per_node: int
) -> Iterator[Complaint]:
    """srun that starts Python itself: as many tasks as GPUs."""
    gpus = batch.gpus_per_node
    direct = any(_takes_all(each) and program(each.words[0]) in PYTHONS for each in ran)
    if gpus is None or not direct or per_node == gpus[0] or launchers(ran):
        return
    if per_node == 1:
        return
    related = (Related(f"{gpus[0]} GPUs per node", gpus[1].place),)
    message = f"{per_node} tasks per node for {gpus[0]} GPUs, and srun starts one process per task"
    yield Complaint(message, tasks.place, related, f"--ntasks-per-node={gpus[0]}")


def _counts(batch: Batch) -> Iterator[Complaint]:
    tasks, per_node, nodes = (batch.get(name) for name in ("ntasks", "ntasks-per-node", "nodes"))
    if not (tasks and per_node and nodes and tasks.number and per_node.number and nodes.number):
        return
    if tasks.number != nodes.number * per_node.number:
        related = (
            Related(f"{nodes.number} nodes", nodes.place),
            Related(f"{per_node.number} tasks per node", per_node.place),
        )
        product = nodes.number * per_node.number
        message = (
            f"ntasks {tasks.number} is not nodes {nodes.number} * {per_node.number} = {product}"
        )
        yield Complaint(message, tasks.place, related, "give only --ntasks-per-node")
