"""The nodes and GPUs that a launcher counts are not those that the job asks for, or a GPU count is written
twice.

Why:
Fewer processes than GPUs leave GPUs idle; more nodes than the job has wait for each other until the
rendezvous times out. A number that stands twice will differ one day.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py --num-layers 32

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
srun torchrun --nnodes "$SLURM_NNODES" --nproc-per-node "${SLURM_GPUS_ON_NODE:-8}" pretrain_gpt.py \\
    --num-layers 32
"""

import re
from collections.abc import Iterator

from ....backends.huggingface.option_rows import ACCELERATE, option
from ....reading.facts import number_of
from ...facts.batch import Batch, batches
from ...facts.commands import launchers, literal, ran_by, set_by, step_options, steps
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR601"
TITLE = "a launcher counts other nodes or GPUs than the job has"
SEVERITY = "error"
SOURCE = "k2-fsa/icefall#2067; arithmetic"
FILE = "job.sbatch"


_VLLM = re.compile(
    r"\buse_vllm\b[\s:=\"']*true\b|\bvllm[_ ](?:serve|device|server)\b", re.IGNORECASE
)
_COPY = ("GPU", "NPROC", "DEVICES", "WORLD")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for batch in batches(launch):
        yield from _nodes(launch, batch)
        yield from _machines(launch, batch)
        yield from _gpus(launch, batch)
        yield from _shape(batch)


#: How a script insists on the shape that it was written for; a test of `if` alone has another branch.
_SHAPE = re.compile(
    r"\b(SLURM_NNODES|SLURM_JOB_NUM_NODES|SLURM_GPUS_ON_NODE)\b[^=!<>&|]{0,8}(?:==|-eq)\s*[\"']?(\d{1,9})(?!\d)"
)
_INSISTS = re.compile(r"\|\||^\s*(?:assert|if\s+!)\s")


def _insists(line: str) -> bool:
    return not line.lstrip().startswith("#") and _INSISTS.search(line) is not None


def _shape(batch: Batch) -> Iterator[Complaint]:
    """A check of the script's own that the directives cannot pass."""
    nodes, gpus = batch.get("nodes"), batch.gpus_per_node
    for number, line in enumerate(batch.lines, 1):
        for match in _SHAPE.finditer(line) if _insists(line) else ():
            on_nodes = match[1] != "SLURM_GPUS_ON_NODE"
            asked = (
                nodes.number if on_nodes and nodes else gpus[0] if gpus and not on_nodes else None
            )
            directive = nodes if on_nodes else gpus[1] if gpus else None
            if asked is None or directive is None or asked == int(match[2]):
                continue
            what = "nodes" if on_nodes else "GPUs per node"
            related = (Related(f"the script needs {match[2]}", batch.place(number, match[1])),)
            message = f"the job asks for {asked} {what}, and its script needs {match[2]}"
            yield Complaint(message, directive.place, related, severity="warning")


def _nodes(launch: LaunchedJob, batch: Batch) -> Iterator[Complaint]:
    asked, counted = batch.get("nodes"), launch.setting("launcher", "--nnodes")
    nodes, awaited = asked.number if asked else None, number_of(counted)
    if asked and counted and nodes and awaited and nodes != awaited and counted.path == batch.path:
        related = (Related(f"--nodes {nodes}", asked.place),)
        message = f"the launcher waits for {awaited} nodes, and the job has {nodes}"
        yield Complaint(message, counted, related, '--nnodes "$SLURM_NNODES"')


#: With these on the command, accelerate is meant to run on several nodes.
_JOINED = ("--main-process-ip", "--machine-rank")
#: Options of srun on other nodes than all of the job.
_PART = frozenset({"nodes", "ntasks", "nodelist", "relative", "het-group"})


def _machines(launch: LaunchedJob, batch: Batch) -> Iterator[Complaint]:
    """accelerate on each node, told where the first one is, and its file has another number of machines."""
    asked, counted = batch.get("nodes"), launch.setting("yaml", ACCELERATE.fact("nodes").name)
    joined, said = launch.setting("launcher", *_JOINED), launch.setting(
        "launcher", "--num-machines"
    )
    machines = number_of(counted)
    if not (asked and asked.number and counted and joined and machines) or said is not None:
        return
    if machines == asked.number or not _on_each(launch, batch):
        return
    related = (
        Related(f"--nodes {asked.number}", asked.place),
        Related(f"{joined.name} is given", joined),
    )
    message = f"accelerate expects {machines} machines, and the job has {asked.number} nodes"
    help_text = (
        "pass --num_machines $SLURM_NNODES and --num_processes, of all nodes, on the command line"
    )
    yield Complaint(message, counted, related, help_text)


def _on_each(launch: LaunchedJob, batch: Batch) -> bool:
    """Whether the only srun is on all nodes, and starts accelerate."""
    ran = ran_by(launch, batch)
    started = {step[0].origin: step for _, step in steps(ran)}
    if len(started) != 1 or not _PART.isdisjoint(step_options(*started.values())):
        return False
    return any(each.step and word.text == "accelerate" for each, word in launchers(ran))


def _generates(launch: LaunchedJob) -> bool:
    """Whether a GPU is left for vLLM, which generates beside the trainer."""
    return any(_VLLM.search(text) for text in launch.config.texts.values())


def _beside_others(launch: LaunchedJob) -> bool:
    """Whether the launch goes to the background with GPUs of its own: others run on the rest."""
    if launch.setting("environment", "CUDA_VISIBLE_DEVICES") is None:
        return False
    return any(
        each.background and launch.config.command == (word.path, word.line, word.column)
        for each in launch.config.trace
        for words in (each.words, *each.wrappers)
        for word in words
    )


def _of_all(
    launch: LaunchedJob, batch: Batch, gpus: int, related: tuple[Related, ...]
) -> Iterator[Complaint]:
    """accelerate's `--num_processes` are those of all machines, and were meant for one."""
    total, machines = (
        launch.setting("launcher", option(ACCELERATE.fact(name).name)) for name in ("gpus", "nodes")
    )
    processes, nodes = number_of(total), number_of(machines)
    if total is None or not processes or not nodes or nodes < 2 or batch.nodes != nodes:
        return
    each = processes // nodes
    if processes % nodes == 0 and each < gpus and _on_each(launch, batch):
        message = (
            f"{processes} processes over {nodes} machines leave {gpus - each} of {gpus} GPUs idle"
        )
        help_text = f"--num_processes {nodes * gpus}, those of all machines"
        yield Complaint(message, total, related, help_text, "warning")


def _gpus(launch: LaunchedJob, batch: Batch) -> Iterator[Complaint]:
    asked, counted = batch.gpus_per_node, launch.setting("launcher", "--nproc-per-node")
    processes = number_of(counted)
    if asked is None:
        return
    gpus, directive = asked
    related = (Related(f"{gpus} GPUs per node", directive.place),)
    rest_is_used = _generates(launch) or _beside_others(launch)
    if counted and processes and processes < gpus and not rest_is_used:
        message = f"{processes} processes on a node of {gpus} GPUs leave {gpus - processes} idle"
        yield Complaint(message, counted, related, severity="warning")
    elif counted is None and not rest_is_used:
        yield from _of_all(launch, batch, gpus, related)
    for made in set_by(launch, batch):
        if literal(made) == str(gpus) and any(part in made.name for part in _COPY):
            message = f"the GPUs of a node are written twice: {gpus}"
            help_text = f"${{SLURM_GPUS_ON_NODE:-{gpus}}}"
            place = batch.place(made.place[1])
            yield Complaint(message, place, related, help_text, "info")
