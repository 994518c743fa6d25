"""A rendezvous port that is the same for every job.

Why:
Two jobs on one node want the same port: the second fails with EADDRINUSE; and with the same host, port and
--rdzv-id the two even became one world. A job that has its nodes for itself cannot meet another, nor can one
that takes every GPU of a node and asked for none.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=4
#SBATCH --mem=100G
srun torchrun --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint localhost:29400 pretrain_gpt.py \\
    --num-layers 32

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=4
#SBATCH --mem=100G
srun torchrun --nproc-per-node 4 --standalone pretrain_gpt.py --num-layers 32
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.facts import Setting, text_of
from ...facts.batch import Batch, batches, gpu_count
from ...facts.commands import is_default
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR605"
TITLE = "a rendezvous port that two jobs would share"
SEVERITY = "warning"
SOURCE = "pytorch/pytorch#116974, #126510; deepspeedai/DeepSpeed#191"
FILE = "job.sbatch"


#: GPUs that are all of a node, whatever the cluster.
_WHOLE_NODE = 8
PORTS = ("--master-port", "--main-process-port")
ENDPOINTS = ("--rdzv-endpoint",)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.given("--standalone") or launch.setting("launcher", "--standalone"):
        return
    for setting, port in _ports(launch):
        if not port.isdecimal() or port == "0" or is_default(launch, port):
            continue
        whole = (launch.number("gpus_per_node") or 0) >= _WHOLE_NODE
        alone = whole or any(
            _alone(batch) or _given_whole(launch, batch) for batch in batches(launch)
        )
        on_slurm = any(True for _ in batches(launch))
        if alone:
            return
        one_node = (launch.number("nodes") or 1) == 1
        severity: Severity = "warning" if on_slurm and one_node else "info"
        help_text = "$((20000 + SLURM_JOB_ID % 10000)), or --standalone on one node"
        yield Complaint(
            f"port {port} is the same for every job", setting, help=help_text, severity=severity
        )
        return


def _ports(launch: LaunchedJob) -> Iterator[tuple[Setting, str]]:
    for name in PORTS:
        setting = launch.setting("launcher", name)
        if setting and (text := text_of(setting)):
            yield setting, text
    for name in ENDPOINTS:
        setting = launch.setting("launcher", name)
        if setting and (text := text_of(setting)) and ":" in text:
            yield setting, text.rpartition(":")[2]


def _alone(batch: Batch) -> bool:
    """Whether a job has its nodes for itself: it asks for that, or for all of their memory or GPUs.

    Four GPUs are a node on many clusters; where a part of its memory is asked for as well, the node has more.
    """
    gpus = batch.gpus_per_node[0] if batch.gpus_per_node else _of_one_node(batch)
    of_task = batch.get("gpus-per-task")
    together = (gpu_count(of_task) or 0) * (batch.number("ntasks-per-node") or 1) if of_task else 0
    return (
        bool(batch.get("exclusive"))
        or batch.value("mem") == "0"
        or (gpus is not None and gpus >= (_WHOLE_NODE if batch.get("mem") else 4))
        or together >= _WHOLE_NODE
    )


def _given_whole(launch: LaunchedJob, batch: Batch) -> bool:
    """Whether a process starts on each GPU and the job asks for none: the site gives whole nodes."""
    each = launch.setting("launcher", "--nproc-per-node")
    asked = any(name.startswith("gpus") or name == "gres" for name in batch.directives)
    return text_of(each) in ("gpu", "auto") and not asked


def _of_one_node(batch: Batch) -> int | None:
    """The GPUs of a job of one node, where only all of the job's are given."""
    given = batch.get("gpus")
    return gpu_count(given) if given and batch.nodes == 1 else None
